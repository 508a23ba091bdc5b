package import Feeds
package import Reactors

/// The services that a loop provides to its sessions.
package struct LoopServices {
    /// Sends a job to the loop, from any thread. Jobs run in the order in which they were sent.
    /// Returns false when the loop has stopped: the job is released and never runs, so the caller
    /// must resume the task that waits for it.
    package typealias Hop =
        @Sendable (@escaping @Sendable (SessionTable) -> Void) -> Bool

    /// Sends a job to the loop that owns the session. Otherwise the same as ``Hop``.
    package typealias Reach =
        @Sendable (SessionID, @escaping @Sendable (SessionTable) -> Void) -> Bool

    /// Milliseconds since 1970 (UTC), for records.
    let now: () -> Int64
    /// Milliseconds of a clock that is never set, for the age of what readers see.
    let uptime: () -> Int64
    package let hop: Hop
    let reach: Reach
    /// Keeps the tasks of sessions on the loop that `hop` leads to.
    let isolation: LoopIsolation
    /// The values that administrators publish to the sessions of all loops.
    let topics: TopicBus
    /// Nil without a limit.
    let owners: SessionOwners?
    /// The bytes that requests may cause, on all loops.
    package let work: WorkBudget
    /// The changes of all loops.
    package let tagChanges: TagChanges

    /// - Parameters:
    ///   - now: milliseconds since 1970 (UTC); called for every record.
    ///   - uptime: used only with a journal that has owners.
    ///   - reach: nil: this loop owns every session.
    package init(
        now: @escaping () -> Int64, uptime: @escaping () -> Int64 = { 0 },
        hop: @escaping Hop, reach: Reach? = nil,
        isolation: LoopIsolation, topics: TopicBus = TopicBus(), owners: SessionOwners? = nil,
        work: WorkBudget = WorkBudget(), tagChanges: TagChanges = TagChanges()
    ) {
        self.now = now
        self.uptime = uptime
        self.hop = hop
        self.reach = reach ?? { _, job in hop(job) }
        self.isolation = isolation
        self.topics = topics
        self.owners = owners
        self.work = work
        self.tagChanges = tagChanges
    }
}
