package import Storage

/// The events of one reactor's streams: their names, and how a state is rebuilt from records.
package final class EventCatalog: Sendable {
    /// The reactor's name.
    package let reactor: String
    /// The names on the wire, in declaration order; ``EventSource/pulse(_:)`` is an index of it.
    package let pulses: [String]
    /// The names of the pulses in Swift.
    package let properties: [String]
    /// The names of activities that the reactor has announced.
    package let activities: [String]
    /// `event: <name>` and the beginning of the id line, per pulse and per activity.
    let pulsePrefixes: [[UInt8]]
    let activityPrefixes: [[UInt8]]
    /// Begins to rebuild the state of a session from its id and its ``SessionCreation``, without
    /// the session itself.
    package let makeFold: MakeFold

    package typealias MakeFold =
        @Sendable (String, SessionCreation, Snapshot?) throws(RecoveryFault) -> any StateFold

    package init(
        of reactor: String, pulses: [String], properties: [String], activities: [String],
        makeFold: @escaping MakeFold
    ) {
        self.reactor = reactor
        self.pulses = pulses
        self.properties = properties
        self.activities = activities
        pulsePrefixes = pulses.map(EventFramer.prefix)
        activityPrefixes = activities.map(EventFramer.prefix)
        self.makeFold = makeFold
    }

    /// Whether the reactor has an event named `presence`. Its streams then have only that one,
    /// because reactors could use the name before the service did.
    package var hasOwnPresence: Bool {
        (pulses + activities).firstIndex(exactly: "presence") != nil
    }
}

/// The names of events, by which a client finds them.
package enum EventName {
    /// Names that are the service's or EventSource's own (contract §3.2), and those that it may
    /// use later: a name can be given to reactors at any time, but cannot be taken from them.
    package static let reserved: Set<String> = [
        "snapshot", "reset", "state", "end", "ping", "problem", "message", "open", "error", "patch",
        "receipt", "mutation", "cause", "log",
    ]

    /// Why events cannot have these names; empty if they can.
    package static func faults(in names: [String]) -> [String] {
        var faults: [String] = []
        var seen: Set<ExactText> = []
        for name in names {
            if reserved.contains(name) {
                faults.append("\(name) is reserved; a pulse or activity needs another name")
            }
            if name.isEmpty || name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                faults.append("\"\(name)\" can't be the name of an event")
            }
            if !seen.insert(ExactText(name)).inserted {
                faults.append("two pulses or activities are named \(name)")
            }
        }
        return faults
    }
}
