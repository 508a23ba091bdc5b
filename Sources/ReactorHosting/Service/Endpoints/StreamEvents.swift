internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}/events`: pulses, activities and states, or those that `?only=` names.
enum StreamEvents: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        let only = items.values("only").flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        for word in only where !["pulses", "activities", "states"].contains(word) {
            throw Problem(400, "bad_only", "only is \(word); send pulses, activities or states")
        }
        // Also without states: a malformed pointer is refused.
        let chosen = try StreamStates.states(items)
        let wants = { (word: String) in only.isEmpty || only.contains(word) }
        return Selection(
            pulses: wants("pulses") ? pulses : 0, activities: wants("activities"),
            states: wants("states") ? chosen : .none)
    }
}
