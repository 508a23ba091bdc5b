package import JSONCoding

/// Which events of a session a stream carries, and how they are framed.
///
/// Two subscribers with the same selection read the same bytes; that is why it is `Hashable`.
package struct Selection: Hashable, Sendable {
    package enum States: Hashable, Sendable {
        case none
        case whole
        /// One part of the state, and only when it changes (`distinctUntilChanged`).
        case part(JSONPointer)
    }

    /// A bit for each pulse, in declaration order. 64 at the most: a reactor with more is
    /// refused when it is registered.
    package var pulses: UInt64
    package var activities: Bool
    package var states: States
    /// Whether each event is one chunk (RFC 9112 §7.1): for HTTP/1.1. HTTP/1.0 does not know
    /// chunks; its readers share a log of their own.
    package var isChunked = false
    /// The action log, and nothing else.
    package private(set) var log = false

    /// The action log.
    package static let log = Selection(log: true)

    private init(log: Bool) {
        self.init()
        self.log = log
    }

    package init(pulses: UInt64 = 0, activities: Bool = false, states: States = .none) {
        self.pulses = pulses
        self.activities = activities
        self.states = states
    }

    package func includes(_ source: EventSource) -> Bool {
        switch source {
        case .pulse(let index): pulses & (1 << UInt64(index)) != 0
        case .activity: activities
        case .state: states == .whole
        // Only the action log shows it.
        case .content: false
        }
    }

    package var readsStates: Bool { states != .none }

    /// Whether a stream of it has anything to show before the first event: activities are never
    /// stored in the state.
    package var hasSnapshot: Bool { pulses != 0 || readsStates }
}
