internal import Feeds
internal import JSONCoding
internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}/states`: whole states, or the part of them that `?select=` names.
enum StreamStates: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        Selection(states: try states(items))
    }

    static func states(_ items: QueryItems) throws(Problem) -> Selection.States {
        guard let text = items.first("select") else { return .whole }
        do {
            return .part(try JSONPointer(text))
        } catch {
            throw Problem(
                400, "bad_select",
                "select is not a JSON pointer such as /countText: \(error.reason)")
        }
    }
}
