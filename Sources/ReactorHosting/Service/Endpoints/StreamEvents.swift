internal import Feeds
internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}/events`: pulses, activities and states, or those that `?only=` names.
enum StreamEvents: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        let kinds = try EventKinds(items)
        // Also without states: a malformed pointer is refused.
        let chosen = try StreamStates.states(items)
        return Selection(
            pulses: kinds.pulses ? pulses : 0, wantsPulses: kinds.pulses,
            activities: kinds.activities, states: kinds.states ? chosen : .none)
    }
}

struct EventKinds: Sendable {
    let pulses: Bool
    let activities: Bool
    let states: Bool

    init(_ items: QueryItems) throws(Problem) {
        let only = items.values("only").flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        for word in only where !["pulses", "activities", "states"].contains(word) {
            throw Problem(400, "bad_only", "only is \(word); send pulses, activities or states")
        }
        let wants = { (word: String) in only.isEmpty || only.contains(word) }
        (pulses, activities, states) = (wants("pulses"), wants("activities"), wants("states"))
    }
}
