/// Receives everything that happens in a host at once, inside the turn. Call nothing of the host.
package protocol SessionFollower<R>: AnyObject, Sendable {
    associatedtype R: Reactor

    /// The session begins, with this state as it is shown.
    func began(with state: R.State)

    /// Something happened; `state` is the shown one after a mutation or an injection.
    func happened(_ entry: ActionLogEntry<R>, state: R.State?)
}
