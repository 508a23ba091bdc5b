/// A response as the transport has received it.
package struct ClientResponse: Equatable, Sendable {
    package var status: Int
    package var fields: [ClientRequest.Field]
    package var body: [UInt8]

    package init(_ status: Int, fields: [ClientRequest.Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    func value(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name }?.value
    }

    /// `Retry-After` in seconds (RFC 9110 §10.2.3). A date counts as absent: back-off is bounded
    /// anyway, and the two clocks may differ.
    var retryAfter: Duration {
        guard let text = value("retry-after"), let seconds = UInt32(text) else { return .zero }
        return .seconds(Int64(seconds))
    }

    private var mediaType: String? {
        value("content-type")?.split(separator: ";").first.map {
            $0.filter { $0 != " " && $0 != "\t" }.lowercased()
        }
    }

    /// Whether it has the form in which the service refuses things.
    var isProblem: Bool { mediaType == "application/problem+json" }

    /// The service's own refusal of a step; nil for any other answer, which decides nothing (C5).
    func refusal(of step: ServiceRefusals) -> ProblemDetails? {
        let problem = isProblem ? problem : nil
        return problem.flatMap { step.codes.contains($0.code) ? $0 : nil }
    }

    /// Whether only a server that works answers so. Other answers may come from a
    /// proxy without one.
    var showsWorkingServer: Bool {
        switch status {
        case 200..<300: mediaType == "application/json"
        case 409, 410, 412, 422: isProblem
        default: false
        }
    }

    package var problem: ProblemDetails { ProblemDetails(status: status, body: body) }

    /// Why an answer that settles nothing makes the client wait.
    var reasonToWait: String { "status \(status): \(problem.detail)" }

    /// The position in `ETag`, of a session whose position was not the expected one.
    var position: StreamPosition? {
        guard let tag = value("etag") else { return nil }
        return StreamPosition(
            tag.drop { $0 == "\"" || $0 == "W" || $0 == "/" }.filter { $0 != "\"" })
    }
}
