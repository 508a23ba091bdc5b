package import JSONCoding

/// The events of a session that a stream has, and their framing.
///
/// Why `Hashable`: two subscribers with the same selection read the same bytes.
package struct Selection: Hashable, Sendable {
    package enum States: Hashable, Sendable {
        case none
        case whole
        /// One part of the state, shown only when it changes (`distinctUntilChanged`).
        case part(JSONPointer)
    }

    /// A bit for each pulse, in declaration order. At most 64: registration refuses a reactor with
    /// more.
    package var pulses: UInt64
    package var activities: Bool
    package var states: States
    /// Whether each event is one chunk (RFC 9112 §7.1), for HTTP/1.1. HTTP/1.0 has no chunks; its
    /// readers share another stream.
    package var isChunked = false
    /// Whether a state or part is sent as a patch of the previous one, if that is shorter
    /// (ADR-0087).
    package var asPatches = false
    /// The request is for pulses, and the reactor has none of them.
    private let lacksPulses: Bool
    /// Whether the stream shows the action log, and no other events.
    package private(set) var log = false

    /// The action log.
    package static let log = Selection(log: true)

    private init(log: Bool) {
        self.init()
        self.log = log
    }

    /// - Parameter wantsPulses: whether pulses are requested, also if the reactor has none of them.
    package init(
        pulses: UInt64 = 0, wantsPulses: Bool = false, activities: Bool = false,
        states: States = .none
    ) {
        self.pulses = pulses
        lacksPulses = wantsPulses && pulses == 0
        self.activities = activities
        self.states = states
    }

    package func includes(_ source: EventSource) -> Bool {
        switch source {
        case .pulse(let index): pulses & (1 << UInt64(index)) != 0
        case .activity: activities
        case .state: states == .whole
        // Shown on the action log only.
        case .content: false
        }
    }

    /// Whether pulses are requested. A client knows what it has requested, but perhaps not whether
    /// the reactor has such pulses. So this property, not `pulses`, decides whether there is a
    /// snapshot, and in which form.
    package var wantsPulses: Bool { lacksPulses || pulses != 0 }

    package var readsStates: Bool { states != .none }

    /// Of the part of the state that is shown.
    package var pointer: JSONPointer? {
        if case .part(let pointer) = states { pointer } else { nil }
    }

    /// Whether a stream begins with a snapshot. Activities are not part of the state, so a stream
    /// of activities alone has none.
    package var hasSnapshot: Bool { wantsPulses || readsStates }
}
