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
    /// The parent cycler.
    associatedtype Parent: Cycler

    /// The link to the parent. Make one and keep it; the code that assembles the parts links it.
    var parent: CyclerParent<Parent> { get }
}

/// There is no parent: none was linked, or it was released.
public struct CyclerParentMissing: Error, Hashable, Sendable {
    /// Makes one, for a substitute of a cycler.
    public init() {}
}

extension Cycler {
    /// Makes a cycler a part of this one: links its ``ModularCycler/parent`` to this.
    ///
    /// - Parameters:
    ///   - module: the part.
    ///   - retainParent: whether the part retains this cycler. Default: it does not.
    public func add<Part: ModularCycler>(module: Part, retainParent: Bool = false)
    where Part.Parent == Self {
        module.parent.link(to: self, retain: retainParent)
    }
}

extension ModularCycler {
    /// Runs a closure on the parent, which must be in the same isolation.
    ///
    /// - Returns: the result of the closure.
    /// - Throws: ``CyclerParentMissing`` without calling the closure, or the error of the closure.
    @discardableResult
    public func forward<Result>(_ act: (Parent) throws -> Result) throws -> Result {
        guard let cycler = parent.cycler else { throw CyclerParentMissing() }
        return try act(cycler)
    }

    /// Sends an action to the parent, which in a server is another session.
    ///
    /// - Throws: ``CyclerParentMissing`` before anything was done, or the parent's error.
    public nonisolated(nonsending) func forward(_ action: Parent.Action) async throws
    where Parent: ActionCycler {
        if let mailbox = parent.mailbox { return try await mailbox.deliver(action) }
        guard let cycler = parent.cycler else { throw CyclerParentMissing() }
        try await cycler.receive(action)
    }
}
