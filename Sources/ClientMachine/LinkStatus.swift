/// How a session is followed, for people (C7).
package enum LinkStatus: Equatable, Sendable {
    /// Nothing of it is wanted.
    case idle
    /// - Parameter attempt: from 1.
    case connecting(attempt: Int)
    /// Events arrive, and actions are delivered.
    case live
    /// The stream has failed, or an action could not be delivered.
    case waiting(until: Duration, why: String)
    /// The server refuses to serve the session. It is tried again slowly, and at once by `wake` and
    /// by following it again.
    case failed(ProblemDetails)
    /// The outbox cannot be written any more: events may arrive, but no action is sent.
    case stopped(String)
    case ended(EndReason)
}

/// Why a session's events have ended.
package enum EndReason: String, Sendable {
    case deleted
    case unknown
    case forbidden
}

/// The status of a session and the number of its actions that are not done.
package struct SessionStatus: Equatable, Sendable {
    package var link: LinkStatus
    package var pending: Int
}
