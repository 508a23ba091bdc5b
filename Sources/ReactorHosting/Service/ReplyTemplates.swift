internal import Sessions
internal import Wire

/// The parts of answers that never change while the server runs, made once.
struct ReplyTemplates {
    /// On every answer.
    let commonFields: [(String, String)]
    /// The field lines of the answer to posted actions.
    let action: FieldLines
    /// The field lines of a stream's head.
    let stream: FieldLines

    /// What a browser may send along with a request from another origin.
    static let allowedHeaders =
        "Content-Type, Last-Event-ID, If-Match, If-None-Match, Idempotency-Key, traceparent"
    private static let exposedHeaders =
        "ETag, Location, Durability, Retry-After, Allow, traceparent, Idempotency-Replayed"

    init(_ service: Service) {
        var common: [(String, String)] = []
        if let origin = service.configuration.allowedOrigin {
            common.append(("Access-Control-Allow-Origin", origin))
            common.append(("Access-Control-Expose-Headers", Self.exposedHeaders))
            if origin != "*" { common.append(("Vary", "Origin")) }
        }
        commonFields = common
        action = FieldLines(
            [("Content-Type", "application/json"), ("Durability", service.journalName)] + common)
        // Contract §3.2. X-Accel-Buffering: nginx would hold events back.
        stream = FieldLines(
            [
                ("Content-Type", "text/event-stream"),
                ("Cache-Control", "no-store, no-transform"), ("X-Accel-Buffering", "no"),
            ] + common)
    }
}
