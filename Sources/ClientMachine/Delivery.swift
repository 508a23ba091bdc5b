/// News of a session for the program.
package enum Delivery: Equatable, Sendable {
    /// A send is in the outbox, which is not durable yet.
    case accepted(Ticket)
    case notAccepted(SendRefusal)
    case outcome(Ticket, TicketOutcome)
    /// How the session stands, not that something has happened. Its state is confirmed.
    case snapshot(SessionSnapshot)
    /// A version.
    case state(StreamEvent, isConfirmed: Bool)
    /// A pulse or an activity.
    case event(StreamEvent)
    case shown(ShownChange)
    /// The following events do not continue those before; a snapshot follows.
    case reset(reason: String)
    case ended(EndReason)
    /// Who is present, as JSON.
    case presence([UInt8])
    case status(SessionStatus)

    /// The same delivery, with the text of a state that came as a patch.
    package var withTexts: Delivery {
        guard case .state(var event, let isConfirmed) = self, case .value = event.content else {
            return self
        }
        event.content = .text(event.data)
        return .state(event, isConfirmed: isConfirmed)
    }
}

/// The reason why a send is not in the outbox.
package enum SendRefusal: Error, Equatable, Sendable {
    /// The bounds of the outbox are reached; nothing is dropped (O7).
    case outboxFull
    case outboxUnavailable(String)
    /// The session was deleted.
    case ended
    /// The session cannot be made.
    case unusable(ProblemDetails)
    /// There is no action to send.
    case empty
    /// The send to repeat is unknown, because the program has already seen its end.
    case unknown
}

package enum TicketOutcome: Equatable, Sendable {
    /// It is durable.
    case queued
    /// Its request is durable, and leaves.
    case sent
    /// It is applied, and confirmed if the session's states are followed live (R6).
    case applied(Receipt)
    /// Nothing of it is applied. `position` is the session's, if the send expected another one.
    case refused(ProblemDetails, position: StreamPosition?)
    /// It is applied once, or not at all (O4).
    case inDoubt
    /// It was taken back.
    case discarded
    /// The outbox could not be written: it does not survive the program, and is not sent.
    case outboxUnavailable(String)
    /// The outbox cannot be written any more. The next program with it sends the action.
    case stored(String)
}

package struct SessionSnapshot: Equatable, Sendable {
    package enum Origin: Equatable, Sendable {
        /// The stream begins with it: values before it may be missed.
        case stream
        /// The session was read beside its stream, which brings what leads to these values.
        case reading
        /// An earlier life of the program has saved it.
        case saved
    }

    package var origin: Origin
    package var position: StreamPosition
    /// As JSON; nil if states are not followed.
    package var state: [UInt8]?
    /// An object of the present values as JSON; nil if pulses are not followed.
    package var pulses: [UInt8]?

    package init(
        _ origin: Origin = .stream, position: StreamPosition, state: [UInt8]? = nil,
        pulses: [UInt8]? = nil
    ) {
        self.origin = origin
        self.position = position
        self.state = state
        self.pulses = pulses
    }
}

package struct StreamEvent: Equatable, Sendable {
    package var name: String
    package var position: StreamPosition
    package var content: EventContent
    /// The key of the request that has led to it, if the server says so.
    package var cause: String?

    package init(
        name: String, position: StreamPosition, content: EventContent, cause: String? = nil
    ) {
        self.name = name
        self.position = position
        self.content = content
        self.cause = cause
    }

    package init(name: String, position: StreamPosition, data: [UInt8], cause: String? = nil) {
        self.init(name: name, position: position, content: .text(data), cause: cause)
    }

    /// JSON. If the event came as a patch, each access encodes it again.
    package var data: [UInt8] { content.text }
}

/// A change of a shown state: that of the unconfirmed actions, or of the state below them (R3).
package struct ShownChange: Equatable, Sendable {
    /// Whether the newest confirmed state is the one below from now on.
    package var advancesBase: Bool
    /// Sends that are not reduced over the state any more, because it contains them or they failed.
    package var left: [Ticket]
    /// Sends that are reduced over the state from now on, in the order of all tickets.
    package var joined: [OutboxEntry]

    package init(advancesBase: Bool = false, left: [Ticket] = [], joined: [OutboxEntry] = []) {
        self.advancesBase = advancesBase
        self.left = left
        self.joined = joined
    }

    var isEmpty: Bool { !advancesBase && left.isEmpty && joined.isEmpty }
}
