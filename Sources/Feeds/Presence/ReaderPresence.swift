package import Storage

/// A reader's part in the presence of its session. A reader that moves to another loop takes this
/// value with it.
package struct ReaderPresence: Sendable {
    /// Nil: the reader counts as one of the others.
    package let name: ExactText?
    /// Whether the reader gets `presence` events.
    package let getsEvents: Bool
    /// Whether the session counts the reader under its name. False if it has no room for the name.
    var isCounted = false
    /// The newest change (``SessionPresence/changes``) that the reader has seen; nil: it has seen
    /// no event yet.
    var seen: UInt64?

    /// - Parameter name: as ``fault(inName:)`` accepts it.
    package init(name: ExactText?, getsEvents: Bool) {
        (self.name, self.getsEvents) = (name, getsEvents)
    }

    /// The maximum number of bytes of a name.
    package static let nameBytes = 64

    /// Whether a reader may have this name: 1 to 64 bytes without control characters.
    package static func permits(_ name: String) -> Bool {
        (1...nameBytes).contains(name.utf8.count)
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

/// The part of one reader, on the loop of its connection.
final class PresenceReader {
    var part: ReaderPresence
    /// The events of this loop.
    let events: PresenceEvents
    /// Nil on loops other than the session's. A reader moves only after its first event.
    private weak var session: SessionPresence?
    /// The index among the readers of ``events``.
    var index = 0

    init(_ part: ReaderPresence, _ events: PresenceEvents, of session: SessionPresence? = nil) {
        (self.part, self.events, self.session) = (part, events, session)
    }

    /// The event that the reader lacks: first the present set, then the newest event.
    private var missing: PresenceEvent? {
        guard part.getsEvents else { return nil }
        guard let seen = part.seen else { return session?.event() ?? events.newest }
        guard let newest = events.newest, newest.change > seen else { return nil }
        return newest
    }

    var lacksEvent: Bool { missing != nil }

    /// The bytes of the event that the reader lacks. Marks the event as seen.
    func takeEvent(isChunked: Bool) -> [UInt8]? {
        guard let event = missing else { return nil }
        part.seen = event.change
        return isChunked ? event.chunk : event.plain
    }
}
