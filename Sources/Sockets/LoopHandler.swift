#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The callbacks of a loop, implemented by one object.
///
/// Not Sendable: it is made, called and released on its loop. Every callback may call every method
/// of the `ConnectionTable`; no callback is ever called from inside such a method.
package protocol LoopHandler: AnyObject, SendableMetatype {
    /// A listener accepted this connection. Its first bytes arrive in a later callback.
    func opened(_ connection: ConnectionID, peer: PeerAddress)

    /// Bytes arrived. They are in the loop's shared read buffer: copy them to keep them.
    func received(_ connection: ConnectionID, _ bytes: RawSpan)

    /// The peer has closed its sending side; writing to it still works. Called once.
    func peerFinished(_ connection: ConnectionID)

    /// After a short send: there is room again.
    func writable(_ connection: ConnectionID)

    /// Its slot is free already. Never called after the handler's own `close` or `detach`.
    func closed(_ connection: ConnectionID, _ why: CloseReason)

    /// The deadline that was set last has passed, by up to 150 ms; it is cleared.
    func deadlineReached(_ connection: ConnectionID)

    /// A timer of the loop has passed, by up to 20 ms; it is cleared.
    func timerReached(_ token: UInt64)

    /// A pass with callbacks has taken this time, its `roundEnded` included: meanwhile, everything
    /// else waited. The default has no effect.
    func passEnded(nanoseconds: Int64)

    /// Called once per round, after all of its events, jobs and timers: the place to flush. Sends,
    /// closes and jobs made here are permitted; their events come in the next round.
    func roundEnded()
}

extension LoopHandler {
    package func passEnded(nanoseconds: Int64) {}
}

/// The reason why a connection ended that the handler did not close.
package enum CloseReason: Equatable, Sendable {
    /// The peer reset it, or had gone when bytes were sent.
    case reset
    /// Nothing listens at the address of an outgoing connection (``Dialler``).
    case refused
    /// The peer's machine stopped responding (TCP's own time-out).
    case timedOut
    /// Anything else, with its `errno`.
    case failed(code: Int32)

    init(code: Int32) {
        switch code {
        case ECONNRESET, EPIPE: self = .reset
        case ECONNREFUSED: self = .refused
        case ETIMEDOUT: self = .timedOut
        default: self = .failed(code: code)
        }
    }
}
