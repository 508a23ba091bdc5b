package import Feeds

/// A request that only reads a session, among several nodes.
package struct SessionRead {
    package let freshness: Freshness
    package let client: WorkClient?
    /// Whether the client still waits; if not, `act` may not be called.
    package let isWanted: () -> Bool
    package let act: (SessionLookup, Age) -> Void
}

/// A stream that waits for its session.
package struct StreamLookup {
    package let client: WorkClient?
    /// Whether the stream's connection is open.
    package let isWanted: () -> Bool
    package let act: (SessionLookup) -> Void
}

/// How fresh a state a reader requires (RFC 9111 §5.2.1).
package enum Freshness: Sendable, Equatable {
    /// The reader accepts only a state of age zero.
    case confirmed
    /// It prefers the newest state.
    case preferred
    /// It accepts a state of this age, or of any age if that is nil, without a question to the
    /// journal.
    case stale(seconds: UInt64?)

    package var limitMilliseconds: Int64? {
        guard case .stale(let seconds) = self else { return nil }
        guard let seconds, seconds < UInt64(Int64.max / 1_000) else { return .max }
        return Int64(seconds) * 1_000
    }
}

/// The time since a state was confirmed to be the newest.
package struct Age: Sendable, Equatable {
    /// Rounded up; nil if it was the newest at a moment after the request.
    package let seconds: Int64?

    package static let none = Age(seconds: nil)

    private init(seconds: Int64?) { self.seconds = seconds }

    package init(milliseconds: Int64) { seconds = max(0, milliseconds + 999) / 1_000 }
}

extension SessionTable {
    /// Whether several nodes write to the journal, so that a session in memory may not be the
    /// newest.
    package var sharesJournal: Bool { placement != nil }

    /// Finds a session for a request that only reads it. Calls `act` later, on this loop: with a
    /// session in memory, with a copy of one, or with the reason why there is none.
    ///
    /// - Precondition: ``sharesJournal``.
    /// - Parameters:
    ///   - client: the client for which a copy is made.
    ///   - isWanted: whether the client still waits; if not, `act` may not be called.
    package func read(
        _ id: SessionID, _ freshness: Freshness, for client: WorkClient? = nil,
        while isWanted: @escaping () -> Bool = { true },
        then act: @escaping (SessionLookup, Age) -> Void
    ) {
        let read = SessionRead(freshness: freshness, client: client, isWanted: isWanted, act: act)
        placement?.find(id, read, in: self)
    }

    /// Finds a session for a stream. Calls `act` later, on this loop, or at once if the session is
    /// in memory. If several nodes write to the journal, this claims nothing: the readers of a
    /// session that this node does not have get its events from the journal, and `act` has to
    /// subscribe before it returns. The load counts in the share of `client`.
    ///
    /// - Parameter isWanted: whether the connection is open. If it is closed, the call of `act` may
    ///   be omitted.
    package func findForStream(
        _ id: SessionID, for client: WorkClient?, while isWanted: @escaping () -> Bool,
        then act: @escaping (SessionLookup) -> Void
    ) {
        if let found = present(id) { return act(found) }
        guard let placement else { return wake(id, while: isWanted, then: act) }
        placement.find(id, StreamLookup(client: client, isWanted: isWanted, act: act), in: self)
    }
}
