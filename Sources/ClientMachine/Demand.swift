internal import Wire

/// The events that the readers of a session want (C2).
package struct Demand: Sendable, Hashable {
    package enum Pulses: Sendable, Hashable {
        case none
        /// By name. Invariant: not empty; use ``none``.
        case named(Set<String>)
        case all
    }

    package var states: Bool
    package var pulses: Pulses
    package var activities: Bool

    package static let nothing = Demand()

    package init(states: Bool = false, pulses: Pulses = .none, activities: Bool = false) {
        self.states = states
        self.pulses = pulses == .named([]) ? .none : pulses
        self.activities = activities
    }

    package var isEmpty: Bool { self == .nothing }

    /// Whether a stream of these events begins with a snapshot.
    package var hasSnapshot: Bool { states || pulses != .none }

    package func union(_ other: Demand) -> Demand {
        Demand(
            states: states || other.states, pulses: pulses.union(other.pulses),
            activities: activities || other.activities)
    }

    var queryItems: [String] {
        var kinds: [String] = []
        if pulses != .none { kinds.append("pulses") }
        if activities { kinds.append("activities") }
        if states { kinds.append("states") }
        var items = ["only=" + kinds.joined(separator: ",")]
        if case .named(let names) = pulses {
            items += names.sorted().map { "pulse=" + PercentEncoding.encoded($0) }
        }
        return items
    }
}

extension Demand.Pulses {
    func union(_ other: Self) -> Self {
        switch (self, other) {
        case (.all, _), (_, .all): .all
        case (.none, let pulses), (let pulses, .none): pulses
        case (.named(let left), .named(let right)): .named(left.union(right))
        }
    }
}
