/// The followed sessions of a loop.
package struct FollowCounts: Sendable, Equatable {
    /// The present number of followed sessions.
    package var sessions = 0
    /// Followed sessions whose owner reports new records.
    package var hinted = 0
    /// The bytes of states that are kept for streams.
    package var stateBytes = 0
    /// Questions that ask the journal which of the sessions have changed.
    package var questions: UInt64 = 0
    /// Messages from owners with records that were shown without a question.
    package var received: UInt64 = 0
    /// Subscribers that were disconnected because the journal has not answered for ten seconds.
    package var unconfirmed: UInt64 = 0

    package mutating func add(_ other: FollowCounts) {
        sessions += other.sessions
        hinted += other.hinted
        stateBytes += other.stateBytes
        questions += other.questions
        received += other.received
        unconfirmed += other.unconfirmed
    }
}
