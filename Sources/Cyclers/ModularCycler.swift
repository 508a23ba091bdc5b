/// A cycler that is a part of another one, and forwards some work to it.
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

    /// The link to the parent. Make it once; the code that assembles the parts sets its parent.
    var parent: CyclerParent<Parent> { get }
}

/// There is no parent: none was linked, or it was released.
public struct CyclerParentMissing: Error, Hashable, Sendable {
    /// Makes an error, for a test double of a cycler.
    public init() {}
}

extension Cycler {
    /// Makes a cycler a part of this one: links the part's ``ModularCycler/parent`` to this cycler.
    ///
    /// - Parameters:
    ///   - module: the part.
    ///   - retainParent: Whether the part retains this cycler. Default: false.
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

    /// Sends an action to the parent, which is another session in a server.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - subject: The client for which the part acts. Default: none.
    /// - Throws: ``CyclerParentMissing`` without any effect, or the parent's error.
    public nonisolated(nonsending) func forward(
        _ action: Parent.Action, subject: String? = nil
    ) async throws where Parent: ActionCycler {
        if let mailbox = parent.mailbox { return try await mailbox.deliver(action, subject) }
        guard let cycler = parent.cycler else { throw CyclerParentMissing() }
        try await cycler.receive(action, subject: subject)
    }
}
