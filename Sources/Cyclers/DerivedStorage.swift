/// A storage whose value follows from another's; made by `map` and `distinct()`.
///
/// It is read and observed as a ``Storage`` is, and holds the value it is derived from. It has no
/// value of its own, so it is never behind.
public struct DerivedStorage<Value>: ReadableStorage {
    /// The way to the storage where the value lies.
    public let reading: StorageReading<Value>

    init(_ reading: StorageReading<Value>) { self.reading = reading }

    /// The present value.
    public var value: Value { reading.value() }
}
