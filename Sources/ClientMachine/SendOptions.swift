/// The conditions of a send.
package struct SendOptions: Hashable, Sendable {
    /// The position that must be the session's current one (`If-Match`).
    package var expects: StreamPosition?
    /// The time for which the server waits for the effects of the actions (`wait=settled`).
    package private(set) var settledMilliseconds: Int?

    /// - Parameter settledMilliseconds: clamped to 0…600 000, the server's limit.
    package init(expects: StreamPosition? = nil, settledMilliseconds: Int? = nil) {
        self.expects = expects
        self.settledMilliseconds = settledMilliseconds.map { min(max($0, 0), 600_000) }
    }

    /// Whether the send has a request of its own (O1).
    var travelsAlone: Bool { expects != nil || settledMilliseconds != nil }

    /// The query of the request, with its question mark; empty if there is none.
    var query: String {
        guard let settledMilliseconds else { return "" }
        // The server reads at most five digits of milliseconds.
        let isLong = settledMilliseconds > 99_999
        let timeout =
            isLong ? "\(settledMilliseconds / 1_000)s" : "\(settledMilliseconds)ms"
        return "?wait=settled&timeout=\(timeout)"
    }
}
