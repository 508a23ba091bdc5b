internal import Feeds
internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}/activities`.
enum StreamActivities: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        Selection(activities: true)
    }
}
