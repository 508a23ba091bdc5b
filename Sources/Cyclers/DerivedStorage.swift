/// A storage whose value is derived from another's; made by `map` and `distinct()`.
///
/// Read and observed like a ``Storage``, which it retains. It stores no value of its own.
public struct DerivedStorage<Value>: ReadableStorage {
    /// Access to the underlying storage.
    public let reading: StorageReading<Value>

    init(_ reading: StorageReading<Value>) { self.reading = reading }

    /// The current value.
    public var value: Value { reading.value() }
}
