/// The link from a part to its parent cycler. Holds it weakly by default.
public final class CyclerParent<Parent: Cycler> {
    /// The parent, if it is in this process and isolation, and still exists.
    public private(set) weak var cycler: Parent?

    private var retained: Parent?

    // Invariant: a `ParentMailbox<Parent.Action>`, set by the extension below, which knows that
    // there are actions.
    private var linkedMailbox: AnyObject?

    /// Makes a link to `cycler`, or without a parent.
    public init(_ cycler: Parent? = nil) { self.cycler = cycler }

    /// Replaces the parent; `nil` removes it.
    ///
    /// - Parameters:
    ///   - cycler: the parent.
    ///   - retain: Whether the link retains the parent. Default: false. If the parent also retains
    ///     its parts, both stay alive until another parent is linked.
    public func link(to cycler: Parent?, retain: Bool = false) {
        self.cycler = cycler
        retained = retain ? cycler : nil
        linkedMailbox = nil
    }
}

extension CyclerParent where Parent: ActionCycler {
    /// Links to a parent in another isolation.
    package func link(through mailbox: ParentMailbox<Parent.Action>) {
        link(to: nil)
        linkedMailbox = mailbox
    }

    var mailbox: ParentMailbox<Parent.Action>? { linkedMailbox as? ParentMailbox<Parent.Action> }
}

/// Sends actions to a cycler in another isolation: a server's session.
package final class ParentMailbox<Action: Sendable>: Sendable {
    let deliver: @Sendable (Action, _ subject: String?) async throws -> Void

    /// - Parameter deliver: Returns when the parent has received the action; throws
    ///   ``CyclerParentMissing`` if there is no parent.
    package init(
        _ deliver: @escaping @Sendable (Action, _ subject: String?) async throws -> Void
    ) {
        self.deliver = deliver
    }
}
