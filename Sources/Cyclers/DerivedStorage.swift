/// A storage whose value is derived from another's; made by `map` and `distinct()`.
///
/// It is read and observed like a ``Storage``, and retains its source storage. It stores no value,
/// so it is never outdated.
public struct DerivedStorage<Value>: ReadableStorage {
    /// Access to the underlying storage.
    public let reading: StorageReading<Value>

    init(_ reading: StorageReading<Value>) { self.reading = reading }

    /// The current value.
    public var value: Value { reading.value() }
}
