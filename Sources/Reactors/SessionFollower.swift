/// Receives every event of a host at once, within the turn. It must not call the host.
package protocol SessionFollower<R>: AnyObject, Sendable {
    associatedtype R: Reactor

    func began(with state: R.State)

    /// Records an event; `state` is the shown one after a mutation or an injection.
    func record(_ entry: ActionLogEntry<R>, state: R.State?)
}
