/// A request as a person writes it on the command line: `PUT /v1/sessions/{session} {…}`.
struct RequestLine: Equatable {
    var method: String
    var path: String
    var body: String?

    /// Splits at the first two spaces; nil when there is no path.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        guard parts.count >= 2, parts[1].hasPrefix("/") else { return nil }
        method = String(parts[0])
        path = String(parts[1])
        body = parts.count == 3 ? String(parts[2]) : nil
    }
}
