/// How a session is followed, for people (C7).
package enum LinkStatus: Equatable, Sendable {
    /// Nothing of it is wanted.
    case idle
    /// - Parameter attempt: from 1.
    case connecting(attempt: Int)
    /// Events arrive.
    case live
    /// - Parameters:
    ///   - until: the uptime of the next attempt.
    ///   - why: the last failure.
    case waiting(until: Duration, why: String)
    /// The server refuses the program's credentials; `wake` tries again.
    case paused(ProblemDetails)
    /// The server refuses to serve the session; following it again tries again.
    case failed(ProblemDetails)
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

    package init(link: LinkStatus, pending: Int) {
        self.link = link
        self.pending = pending
    }
}
