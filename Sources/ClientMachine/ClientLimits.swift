/// The bounds and times of a client.
package struct ClientLimits: Sendable {
    /// Actions in one request; a send of more travels alone (O1). Default 100.
    package var actionsInRequest = 100
    /// Bytes of actions in one request; a larger send travels alone (O1). Default 256 KiB.
    package var bytesInRequest = 262_144
    /// Actions in the outbox; a send beyond it is refused with `outboxFull` (O7). Likewise for
    /// answered ones of a session that its confirmed state does not have yet. Default 10 000.
    package var actionsInOutbox = 10_000
    /// Bytes of actions in the outbox; likewise. Default 16 MiB.
    package var bytesInOutbox = 16_777_216
    /// The time for which the server is trusted to remember a request, from its first attempt (O4).
    /// Default 23 h: the server keeps answers for 24 h at least.
    package var memoryOfServer = Duration.seconds(23 * 3600)
    /// The time for which a shown state is held back while it is not certain that it contains an
    /// own action (R10). Default 1 s.
    package var hold = Duration.seconds(1)
    /// The time after which the state is read if the stream does not confirm an
    /// answer. Default 1 s.
    package var readBack = Duration.seconds(1)
    /// Sessions on one stream (C1). Default 100, which is the server's default.
    package var sessionsOnStream = 100
    /// Bytes of a stream's target, which the server reads as part of a request's head; fewer
    /// sessions share a stream beyond it. Default 8 KiB, half of the server's limit of a head.
    package var targetBytes = 8_192
    /// The time in which changes of the followed sessions gather before streams change (C1).
    package var gathering = Duration.milliseconds(50)
    /// The silence after which a stream is dead (C4). Default 40 s: 2⅔ heartbeats.
    package var silence = Duration.seconds(40)
    /// The silence after which a stream is replaced on `wake` (C4). Default 20 s.
    package var silenceOnWake = Duration.seconds(20)
    /// The time for the head of a stream (C4). Default 10 s.
    package var opening = Duration.seconds(10)
    /// The time for an answer, in addition to the time for which the request asks the server to
    /// wait and to the time for its body (C4). Default 30 s.
    package var answer = Duration.seconds(30)
    /// An attempt gets one more second for each of this many bytes of its body. Default 4 096, the
    /// server's minimum: the server refuses a slower body.
    package var bodyBytesPerSecond = 4_096
    /// The fewest bytes of actions to which requests shrink on a slow line. Default 4 KiB.
    package var leastBytesInRequest = 4_096
    /// Requests that are under way at once, apart from streams and those that ask the server to
    /// wait. Others wait for their turn. Default 16: each has a connection, of which a server
    /// accepts a limited number from one address.
    package var requestsAtOnce = 16
    /// The longest wait before a session that the server has refused to serve is tried again; the
    /// least is half of it (C5). Default 60 s.
    package var revival = Duration.seconds(60)
    /// The life of a stream after which it counts as working (C3). Default 5 s.
    package var proven = Duration.seconds(5)
    /// The life that a remembered credential must have left (C6). Default 30 s.
    package var credentialLife = Duration.seconds(30)
    /// The longest wait that a server's `Retry-After` or `retry:` can impose. Default 1 h.
    package var longestWait = Duration.seconds(3600)
    /// Unread bytes of entries of one action log; beyond it the log waits. Default 16 MiB.
    package var bytesInLog = 16_777_216
    /// Action logs that are read at once: each has a connection. Default 32.
    package var logs = 32
    /// The largest event; a stream with a larger one fails. Default 16 MiB.
    package var eventBytes = 16_777_216

    package init() {}
}
