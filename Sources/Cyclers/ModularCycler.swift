/// A cycler that is a part of another, and has some things done by it.
///
/// ```swift
/// final class Row: ModularCycler {
///     struct State { var isMarked = false }
///     let state: Storage<State> = .init(.init())
///     let parent = CyclerParent<Table>()
///
///     func delete() throws {
///         try forward { table in table.deleteRow() }
///     }
/// }
///
/// table.add(module: row)
/// ```
public protocol ModularCycler: Cycler {
    /// The cycler that it is a part of.
    associatedtype Parent: Cycler

    /// The way to it. Make one and keep it; who puts the parts together links it.
    var parent: CyclerParent<Parent> { get }
}

/// There is no parent: none was linked, or it is gone.
public struct CyclerParentMissing: Error, Hashable, Sendable {
    /// Makes one, for what stands in for a cycler.
    public init() {}
}

extension Cycler {
    /// Makes a cycler a part of this one: links its ``ModularCycler/parent`` to this.
    ///
    /// - Parameters:
    ///   - module: the part.
    ///   - retainParent: whether the part keeps this cycler alive. Default: it does not.
    public func add<Part: ModularCycler>(module: Part, retainParent: Bool = false)
    where Part.Parent == Self {
        module.parent.link(to: self, retain: retainParent)
    }
}

extension ModularCycler {
    /// Has something done by the parent, which is in the same isolation.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: ``CyclerParentMissing`` without calling the closure, or what the closure throws.
    @discardableResult
    public func forward<Result>(_ act: (Parent) throws -> Result) throws -> Result {
        guard let cycler = parent.cycler else { throw CyclerParentMissing() }
        return try act(cycler)
    }

    /// Has an action carried out by the parent, wherever that is: in a server it is another
    /// session.
    ///
    /// - Throws: ``CyclerParentMissing`` before anything was done, or what the parent throws.
    public nonisolated(nonsending) func forward(_ action: Parent.Action) async throws
    where Parent: ActionCycler {
        if let door = parent.door { return try await door.deliver(action) }
        guard let cycler = parent.cycler else { throw CyclerParentMissing() }
        try await cycler.receive(action)
    }
}
