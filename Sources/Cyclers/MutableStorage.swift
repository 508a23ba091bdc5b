/// A storage that is written.
///
/// Alone, each call is one version and one notification, and ``batchUpdate(_:)`` makes many of them
/// one. Given to a commit, everything that is written becomes that commit's version.
///
/// Writing is immediate; a value that is written during a delivery is delivered next, so that every
/// subscriber sees every version once and in order. A subscriber that writes on each delivery,
/// without an end, never lets the first call return.
public final class MutableStorage<Value>: Storage<Value> {
    /// Puts another value in the place of the whole. Always a version, for an equal value too.
    public func replace(_ value: Value) {
        _ = core.commit(nil) { core.replace(value) }
    }

    /// Changes the value in place. Always a version, for an equal value too.
    ///
    /// The closure has a copy, which replaces the value when it returns: in it ``Storage/value`` is
    /// still what it was before, and other writes to this storage are dropped. Where it throws,
    /// nothing is changed.
    ///
    /// - Throws: what the closure throws.
    public func update<Failure: Error>(
        _ update: (inout Value) throws(Failure) -> Void
    ) throws(Failure) {
        _ = try core.commitInPlace(nil, update)
    }

    /// Writes one key path. Always a version, for an equal value too.
    public func update<Part>(_ value: Part, _ path: WritableKeyPath<Value, Part>) {
        _ = core.commit(nil) { core.set(value, at: path) }
    }

    /// Writes one key path if the value is another than it has; otherwise nothing happens at all.
    ///
    /// - Parameters:
    ///   - value: what is written.
    ///   - path: where.
    ///   - comparer: whether two values, the present one and the new one, are the same.
    public func updateIfChanged<Part>(
        _ value: Part, _ path: WritableKeyPath<Value, Part>, comparer: (Part, Part) -> Bool
    ) {
        let present = core.value[keyPath: path]
        guard !comparer(present, value) else { return }
        update(value, path)
    }

    /// Writes one key path if the value is not equal to the one it has.
    public func updateIfChanged<Part: Equatable>(
        _ value: Part, _ path: WritableKeyPath<Value, Part>
    ) {
        guard core.value[keyPath: path] != value else { return }
        update(value, path)
    }

    // Why disfavoured: `comparer: ==` fits both forms (seen on 6.3.1: "ambiguous use").

    /// Writes one optional key path if the value is another: `nil` is the same as `nil` only.
    ///
    /// - Parameters:
    ///   - value: what is written.
    ///   - path: where.
    ///   - comparer: whether two values, the present one and the new one, are the same.
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

    /// Makes one version, and one notification, of all that `update` writes; of nothing, none.
    ///
    /// When it throws, the value is unchanged, and nobody is notified.
    public func batchUpdate<Failure: Error>(
        _ update: (MutableStorage<Value>) throws(Failure) -> Void
    ) throws(Failure) {
        _ = try core.commit(nil, isBatch: true) { () throws(Failure) in try update(self) }
    }

    /// The same storage, to read only.
    public func asStorage() -> Storage<Value> { Storage(core: core) }
}
