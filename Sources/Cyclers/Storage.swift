/// A value that can be read and observed. A ``MutableStorage`` can also be written.
///
/// It can be used alone, or as the state of a ``Cycler``, which writes it by `commit`:
///
/// ```swift
/// final class ViewModel: Cycler {
///     struct State { var count = 0 }
///     let state: Storage<State> = .init(.init())
/// }
/// ```
///
/// It belongs to the isolation that made it. Its streams can be sent to any other.
public class Storage<Value>: ReadableStorage {
    let core: StorageCore<Value>

    // The writer for commits. Made once, to save the allocation in each commit.
    private(set) lazy var writer = MutableStorage<Value>(core: core)

    /// Makes a storage with its first value, which is version 0.
    public init(_ value: Value) { core = StorageCore(value) }

    init(core: StorageCore<Value>) { self.core = core }

    /// The current value; inside a commit or a batch the working copy.
    public final var value: Value { core.value }

    /// The number of commits, batches and single updates that have written something.
    public final var version: UInt64 { core.version }

    /// Access to this storage, for derived storages.
    public final var reading: StorageReading<Value> {
        let core = core
        return StorageReading(
            value: { core.value },
            subscribe: { core.subscribe($0) },
            unsubscribe: { core.unsubscribe($0) })
    }

    /// Adds a logger. All loggers are called, in the order in which they were added.
    ///
    /// - Returns: a token for removing or replacing it.
    @discardableResult
    public final func add(logger: any CyclerLogger) -> StorageToken { core.add(logger) }

    /// Removes all loggers that were added or set before. Streams of the log stay.
    ///
    /// - Returns: a token for removing or replacing it.
    @discardableResult
    public final func set(logger: any CyclerLogger) -> StorageToken { core.set(logger) }

    /// Removes a logger. An unknown token is ignored.
    public final func remove(logger token: StorageToken) { core.removeLogger(token) }

    /// Replaces a logger; the token then identifies the new one.
    ///
    /// - Returns: Whether there was such a logger; if not, the call has no effect.
    @discardableResult
    public final func replace(logger token: StorageToken, with logger: any CyclerLogger) -> Bool {
        core.replaceLogger(token, logger)
    }
}
