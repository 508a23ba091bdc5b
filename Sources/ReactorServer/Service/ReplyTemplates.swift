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
        "ETag, Location, Durability, Retry-After, Allow, traceparent"

    private static let version = Array("{\"version\":".utf8)
    private static let position = Array(",\"position\":\"".utf8)
    private static let accepted = Array("\",\"accepted\":false}".utf8)
    private static let end = Array("\"}".utf8)

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

    /// `{"version":3,"position":"abcdefgh.3"}`, and what was rejected, if anything was.
    func fill(_ body: inout [UInt8], with content: Reply.Content) {
        body.removeAll(keepingCapacity: true)
        body.append(contentsOf: Self.version)
        Decimal.append(content.version, to: &body)
        body.append(contentsOf: Self.position)
        content.position.append(to: &body)
        guard case .received(let rejected, let isBatch) = content.kind, !rejected.isEmpty else {
            return body.append(contentsOf: Self.end)
        }
        guard isBatch else { return body.append(contentsOf: Self.accepted) }
        let places = rejected.map(String.init).joined(separator: ",")
        body.append(contentsOf: "\",\"accepted\":false,\"rejected\":[\(places)]}".utf8)
    }
}
