/// Something that has happened to a client.
package enum Input: Sendable {
    // From the program.

    /// Sends actions, each as JSON. The outputs begin with `accepted` or `notAccepted`.
    case send(SessionName, [[UInt8]], SendOptions = .init())
    /// Takes a send back that waits; one that is sent already is not (O8).
    case discard(Ticket, SessionName)
    /// The program has seen that a send was refused or is in doubt.
    case seen(Ticket)
    /// Sends the actions of one that was refused or is in doubt once more, under another ticket,
    /// and counts as `seen`. The outputs begin as those of `send`.
    case resend(Ticket, SessionName)
    case follow(SessionName, Following)
    /// Tries a session again at once that the server has refused to serve.
    case revive(SessionName)
    /// Ends the events of a session; its outbox continues.
    case leave(SessionName)
    case readLog(LogID, LogReading)
    case logRead(LogID, LogAmount)
    /// Ends an action log. Without effect if it has ended.
    case closeLog(LogID)
    /// The network may be back, or the program is in front again.
    case wake

    // From the outbox.

    /// All changes up to that number are durable.
    case persisted(UInt64)
    /// Changes could not be written. The outbox tries again at this uptime, and reports then.
    case persistDelayed(until: Duration, String)
    /// Changes could not be written, and none will be.
    case persistFailed(String)

    // From the source of credentials; nil: none is available now.
    case credential(AttemptID, Credential?)

    // From the transport.

    case answered(AttemptID, ClientResponse)
    case requestFailed(AttemptID, String)
    /// The head of a stream; the body is ignored.
    case streamOpened(AttemptID, ClientResponse)
    case streamBytes(AttemptID, [UInt8])
    /// - Parameter failure: nil if the stream has ended as it should.
    case streamEnded(AttemptID, failure: String?)

    /// Time has passed: the moment of `wakeMe` has come.
    case timer
}

package struct Following: Equatable, Sendable {
    package enum Start: Hashable, Sendable {
        /// With a snapshot.
        case present
        case now
        /// With everything that the server keeps.
        case start
    }

    package var demand: Demand
    /// The reactor and the input with which the session is created if it is missing; nil to join
    /// one that must exist.
    package var makes: SessionMaking?
    /// Whether unconfirmed actions are reduced over the state (R4).
    package var predicts: Bool
    package var start: Start
    /// The position up to which the program has seen everything; it has precedence over `start`.
    package var after: StreamPosition?
    /// The state that an earlier life of the program has saved: shown until there is another one.
    /// If `after` is its position, the events continue it.
    package var saved: SavedState?

    package init(
        demand: Demand, makes: SessionMaking? = nil, predicts: Bool = false,
        start: Start = .present, after: StreamPosition? = nil, saved: SavedState? = nil
    ) {
        self.demand = demand
        self.makes = makes
        self.predicts = predicts
        self.start = start
        self.after = after
        self.saved = saved
    }
}
