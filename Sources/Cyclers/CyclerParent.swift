/// The way from a part to the cycler that it is a part of. Holds it weakly
/// by default.
public final class CyclerParent<Parent: Cycler> {
    /// The parent, if it is in this process and isolation, and still there.
    public private(set) weak var cycler: Parent?

    private var retained: Parent?

    // Invariant: a `ParentDoor<Parent.Action>`, set by the extension below, which knows that there are
    // actions.
    private var someDoor: AnyObject?

    /// Makes a way that leads nowhere yet, or to `cycler`.
    public init(_ cycler: Parent? = nil) { self.cycler = cycler }

    /// Leads to another parent from now on; to `nil`, nowhere.
    ///
    /// - Parameters:
    ///   - cycler: the parent.
    ///   - retain: whether the parent is kept alive by this. Default: it is not. Where the parent
    ///     keeps its parts, both stay until another parent is linked.
    public func link(to cycler: Parent?, retain: Bool = false) {
        self.cycler = cycler
        retained = retain ? cycler : nil
        someDoor = nil
    }
}

extension CyclerParent where Parent: ActionCycler {
    /// Leads to a parent that is elsewhere from now on.
    package func link(through door: ParentDoor<Parent.Action>) {
        link(to: nil)
        someDoor = door
    }

    var door: ParentDoor<Parent.Action>? { someDoor as? ParentDoor<Parent.Action> }
}

/// Takes actions to a cycler that is in another isolation: a server's session.
package final class ParentDoor<Action: Sendable>: Sendable {
    let deliver: @Sendable (Action) async throws -> Void

    /// - Parameter deliver: returns when the parent has received the action, and throws
    ///   ``CyclerParentMissing`` when there is none.
    package init(_ deliver: @escaping @Sendable (Action) async throws -> Void) {
        self.deliver = deliver
    }
}
