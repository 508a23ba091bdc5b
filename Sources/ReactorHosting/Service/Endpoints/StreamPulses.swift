internal import Feeds
internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}/pulses`.
enum StreamPulses: StreamEndpoint {
    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        Selection(pulses: pulses, wantsPulses: true)
    }
}
