// One client of a storm counts: it sends one request at a time and checks each response.

/// The only client that posts to its session, so it knows the session's state.
///
/// Every `increment` by 1 makes a version, so the count always equals the version. An acknowledged
/// increment survives every kill; an unacknowledged one is there once or not at all.
struct StormWitness {
    enum Errand: Equatable {
        case create
        case post(key: Int)
        case read
    }

    private let session: String
    private(set) var errand = Errand.create
    /// The highest version that was acknowledged or read.
    private(set) var version: UInt64 = 0
    private(set) var acknowledged = 0
    private var lastKey = 0
    private var epoch: UInt64?

    init(session: String) { self.session = session }

    /// The next request; after a lost connection the same request again, which has a key.
    func request(host: String) -> [UInt8] {
        let path = "/v1/sessions/\(session)"
        let json = "Host: \(host)\r\nContent-Type: application/json\r\n"
        switch errand {
        case .create:
            let text = "{\"reactor\":\"counter\"}"
            return Array(
                "PUT \(path) HTTP/1.1\r\n\(json)Content-Length: \(text.utf8.count)\r\n\r\n\(text)"
                    .utf8)
        case .post(let key):
            let text = "{\"type\":\"increment\",\"number\":1}"
            return Array(
                ("POST \(path)/actions HTTP/1.1\r\n\(json)Idempotency-Key: witness-\(key)\r\n"
                    + "Content-Length: \(text.utf8.count)\r\n\r\n\(text)").utf8)
        case .read: return Array("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        }
    }

    /// Another server process is running: the next request reads the session.
    mutating func serverStarted() { if errand != .create { errand = .read } }

    /// The fault of the response.
    mutating func answered(_ status: Int, _ body: [UInt8]) -> [String] {
        // Overloaded, draining, or the key's first request is in progress: send it again.
        if AnswerRules.isRefusal(status) || AnswerRules.isUnknown(status) || status == 409 {
            return []
        }
        guard status == 200 || status == 201,
            let number = AnswerRules.number(after: "\"version\":", in: body),
            let position = AnswerRules.position(in: body)
        else {
            return [
                "the witness: \(status) to \(errand): \(String(decoding: body, as: UTF8.self))"
            ]
        }
        var faults: [String] = []
        if let known = epoch, known != position.epoch {
            faults.append("the witness: its session lives under another generation")
        }
        epoch = position.epoch
        switch errand {
        case .create: errand = .read
        case .post:
            // No other client posts to this session and its version is known, so the post makes the
            // next version, even if it was sent twice.
            if number != version + 1 {
                faults.append("the witness: acknowledged at \(number), was at \(version)")
            }
            acknowledged += 1
            errand = .read
        case .read:
            // At most one post was outstanding when the connection ended.
            let count = AnswerRules.number(after: "\"count\":", in: body)
            if count != number { faults.append("the witness: \(count ?? 0) at version \(number)") }
            if number < version || number > version + 1 {
                faults.append("the witness: version \(number), \(version) was acknowledged")
            }
            lastKey += 1
            errand = .post(key: lastKey)
        }
        version = max(version, number)
        return faults
    }
}
