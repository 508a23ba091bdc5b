internal import ClientMachine

/// How a session is followed, for people.
public enum LinkStatus: Hashable, Sendable {
    /// It is not followed.
    case idle
    /// - Parameter attempt: from 1.
    case connecting(attempt: Int)
    /// Events arrive, and actions are delivered.
    case live
    /// Events arrive, and this program cannot decode the newest state: it has the last good one.
    /// The sentence names the place and the fault.
    case undecodable(String)
    /// The stream of events has failed, or actions cannot be delivered or stored now: something
    /// other than the service answers, the credentials are refused, or the disk is full.
    /// Nothing is lost.
    ///
    /// - Parameters:
    ///   - until: the time of the next attempt.
    ///   - why: the last failure, as a sentence.
    case waiting(until: ContinuousClock.Instant, why: String)
    /// The server refuses to serve the session. It is tried again after 30 to 60 s, and at once by
    /// ``ReactorClient/wake()`` and by following it again.
    case failed(ProblemDetails)
    /// The outbox cannot be written any more, for the given reason: events may arrive, but no
    /// action is sent. A new client with the same outbox sends what is stored.
    case stopped(String)
    /// No more events come.
    case ended(EndReason)
}

/// The reason why the events of a session have ended.
public enum EndReason: Hashable, Sendable {
    /// The session was deleted.
    case deleted
    /// There is no such session.
    case unknown
    /// This client may not read it.
    case forbidden
    /// This program has left it, or has closed its client.
    case left

    init(_ reason: MachineEnd) {
        switch reason {
        case .deleted: self = .deleted
        case .unknown: self = .unknown
        case .forbidden: self = .forbidden
        }
    }
}

extension LinkStatus {
    init(_ status: MachineLinkStatus, undecodable: String?, clock: DriverClock) {
        switch status {
        case .idle: self = .idle
        case .connecting(let attempt): self = .connecting(attempt: attempt)
        case .live: self = undecodable.map(LinkStatus.undecodable) ?? .live
        case .waiting(let until, let why): self = .waiting(until: clock.instant(until), why: why)
        case .failed(let problem): self = .failed(ProblemDetails(problem))
        case .stopped(let reason): self = .stopped(reason)
        case .ended(let reason): self = .ended(EndReason(reason))
        }
    }
}
