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

/// The parent has not received an action, which has changed nothing: its commit failed, no node of
/// a cluster could be reached that has it, or too many actions are under way.
public struct CyclerParentUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
    /// For logs.
    public let reason: String

    /// Makes an error, for a test double of a cycler.
    public init(_ reason: String) { self.reason = reason }

    /// A sentence.
    public var description: String { "the parent has not received the action: \(reason)" }
}

/// The parent has received an action once or not at all: the connection to its node has ended
/// before the answer, or its commit has an unknown outcome. The action is not sent again.
public struct CyclerParentOutcomeUnknown: Error, Hashable, Sendable, CustomStringConvertible {
    /// Makes an error, for a test double of a cycler.
    public init() {}

    /// A sentence.
    public var description: String { "the parent has received the action once or not at all" }
}

/// The error of a parent at another node of a cluster. Of the errors, only a `Refusal` keeps its
/// type between nodes.
public struct CyclerParentError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error, as `String(describing:)` has it.
    public let description: String

    /// Makes an error, for a test double of a cycler.
    public init(_ description: String) { self.description = description }
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

    /// Sends an action to the parent, which is another session in a server. Returns when the parent
    /// has committed the part of the action before its first suspension.
    ///
    /// In a cluster another node may have the parent. Then the action is sent there as JSON of
    /// 8 MiB at most, for ten seconds at most until a node has accepted it, and at most once.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - subject: The client for which the part acts. Default: none.
    /// - Throws: ``CyclerParentMissing`` or ``CyclerParentUnavailable``, without any effect; or
    ///   ``CyclerParentOutcomeUnknown``; or the parent's error. If another node has the parent, its
    ///   error is a ``CyclerParentError``, unless it is a `Refusal`.
    public nonisolated(nonsending) func forward(
        _ action: Parent.Action, subject: String? = nil
    ) async throws where Parent: ActionCycler {
        if let mailbox = parent.mailbox { return try await mailbox.deliver(action, subject) }
        guard let cycler = parent.cycler else { throw CyclerParentMissing() }
        try await cycler.receive(action, subject: subject)
    }
}
