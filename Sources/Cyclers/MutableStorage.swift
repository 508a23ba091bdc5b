/// A storage that can be written.
///
/// Used alone, each call is one version and one notification, and ``batchUpdate(_:)`` combines many
/// calls into one. Inside a commit, all writes become that commit's version.
///
/// Writes apply immediately; a value that is written during a delivery is delivered next, so that
/// every subscriber receives every version once and in order. If a subscriber writes on each
/// delivery without end, the first call never returns.
public final class MutableStorage<Value>: Storage<Value> {
    /// Replaces the whole value. Always a version, even if it is equal.
    public func replace(_ value: Value) {
        _ = core.commit(nil) { core.replace(value) }
    }

    /// Changes the value in place. Always a version, even if it is equal.
    ///
    /// The closure has a copy, which replaces the value when it returns: until then
    /// ``Storage/value`` is unchanged, and other writes to this storage are dropped. If it throws,
    /// nothing is changed.
    ///
    /// - Throws: the error of the closure.
    public func update<Failure: Error>(
        _ update: (inout Value) throws(Failure) -> Void
    ) throws(Failure) {
        _ = try core.commitInPlace(nil, update)
    }

    /// Writes one key path. Always a version, even with an equal value.
    public func update<Part>(_ value: Part, _ path: WritableKeyPath<Value, Part>) {
        _ = core.commit(nil) { core.set(value, at: path) }
    }

    /// Writes one key path if the value differs from the current one; otherwise has no effect.
    ///
    /// - Parameters:
    ///   - value: the new value.
    ///   - path: the key path.
    ///   - comparer: Returns whether the current value and the new value are the same.
    public func updateIfChanged<Part>(
        _ value: Part, _ path: WritableKeyPath<Value, Part>, comparer: (Part, Part) -> Bool
    ) {
        let present = core.value[keyPath: path]
        guard !comparer(present, value) else { return }
        update(value, path)
    }

    /// Writes one key path if the value is not equal to the current one.
    public func updateIfChanged<Part: Equatable>(
        _ value: Part, _ path: WritableKeyPath<Value, Part>
    ) {
        guard core.value[keyPath: path] != value else { return }
        update(value, path)
    }

    // Why disfavoured: `comparer: ==` fits both forms (seen on 6.3.1: "ambiguous use").

    /// Writes one optional key path if the value differs: `nil` is the same only as `nil`.
    ///
    /// - Parameters:
    ///   - value: the new value.
    ///   - path: the key path.
    ///   - comparer: Returns whether the current value and the new value are the same.
    @_disfavoredOverload
    public func updateIfChanged<Part>(
        _ value: Part?, _ path: WritableKeyPath<Value, Part?>, comparer: (Part, Part) -> Bool
    ) {
        switch (core.value[keyPath: path], value) {
        case (nil, nil): return
        case (let present?, let value?): if comparer(present, value) { return }
        default: break
        }
        update(value, path)
    }

    /// Combines all writes of `update` into one version and one notification; without writes, none.
    ///
    /// If it throws, the value is unchanged, and no observer is notified.
    public func batchUpdate<Failure: Error>(
        _ update: (MutableStorage<Value>) throws(Failure) -> Void
    ) throws(Failure) {
        _ = try core.commit(nil, isBatch: true) { () throws(Failure) in try update(self) }
    }

    /// The same storage, read-only.
    public func asStorage() -> Storage<Value> { Storage(core: core) }
}
