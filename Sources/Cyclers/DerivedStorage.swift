/// A storage whose value is derived from another's; made by `map` and `distinct()`.
///
/// It is read and observed like a ``Storage``, and retains the storage it is derived from. It has
/// no value of its own, so it is never outdated.
public struct DerivedStorage<Value>: ReadableStorage {
    /// Access to the underlying storage.
    public let reading: StorageReading<Value>

    init(_ reading: StorageReading<Value>) { self.reading = reading }

    /// The present value.
    public var value: Value { reading.value() }
}
