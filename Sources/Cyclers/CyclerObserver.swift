/// The host of a storage: a logger that also receives every state.
///
/// Invariant: called before loggers and subscribers, synchronously, in the order of versions. It
/// does not write during a call. It is held weakly, because a host owns its cycler.
package protocol StorageObserver<State>: AnyObject, CyclerLogger {
    associatedtype State

    /// Whether key changes are to be reported; read for every write. Default: yes.
    var wantsChanges: Bool { get }

    func committed(_ state: State, version: UInt64, by call: CyclerCall?)
}

extension StorageObserver {
    package var wantsChanges: Bool { true }
}

/// Receives the activities of a cycler, with their type.
package protocol ActivityObserver<Activity>: AnyObject {
    associatedtype Activity: Sendable

    func emitted(_ activity: Activity, by call: CyclerCall)
}

/// The host of a cycler.
package protocol CyclerObserver<State, Activity>: StorageObserver, ActivityObserver {}
