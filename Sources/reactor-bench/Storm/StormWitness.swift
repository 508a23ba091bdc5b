// Among all that noise one client counts, one request at a time: what it was told stays true.

/// The one who posts to a session of its own, and knows what has to be there.
///
/// Every `increment` by 1 is a version, so the count is the version, always. What was acknowledged
/// is there after every kill; what was not is there once or not at all.
struct StormWitness {
    enum Errand: Equatable {
        case create
        case post(key: Int)
        case read
    }

    private(set) var errand = Errand.create
    /// The greatest version that was acknowledged or seen.
    private(set) var version: UInt64 = 0
    private(set) var acknowledged = 0
    private var lastKey = 0
    private var generation: String?
    private var response = ResponseReader()
    private var body: [UInt8] = []
    private var status = 0

    /// The next request; after an end of the connection the same again, which has a key.
    mutating func request(host: String) -> [UInt8] {
        response = ResponseReader()
        body = []
        let path = "/v1/sessions/\(StormRequests.witness)"
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

    /// The server is another process: it looks first.
    mutating func serverStarted() { if errand != .create { errand = .read } }

    /// Reads; true when the answer is whole and the next request is due.
    mutating func receive(_ bytes: Span<UInt8>, _ faults: inout [String]) -> Bool {
        var position = 0
        do throws(ResponseFault) {
            while true {
                switch try response.next(bytes, &position) {
                case .needMore: return false
                case .head(let status): self.status = status
                case .body(let range): for index in range { body.append(bytes[index]) }
                case .end:
                    judge(&faults)
                    return true
                }
            }
        } catch {
            faults.append("the witness: \(error)")
            return true
        }
    }

    private mutating func judge(_ faults: inout [String]) {
        // Overloaded, draining, or the key's first request is under way: again.
        guard ![503, 504, 429, 409].contains(status) else { return }
        guard status == 200 || status == 201,
            let number = Self.number(after: "\"version\":", in: body),
            let position = StormConnection.last("\"position\":\"", in: body)
        else {
            faults.append(
                "the witness: \(status) to \(errand): \(String(decoding: body, as: UTF8.self))")
            return
        }
        let generation = String(position.prefix { $0 != "." })
        if let known = self.generation, known != generation {
            faults.append("the witness: its session lives under another generation")
        }
        self.generation = generation
        switch errand {
        case .create: errand = .read
        case .post:
            // It may be told of an earlier one only by a key of an earlier one.
            if number <= version {
                faults.append("the witness: acknowledged at \(number), was at \(version)")
            }
            acknowledged += 1
            errand = .read
        case .read:
            // One post was under way at the most when the connection ended.
            let count = Self.number(after: "\"count\":", in: body)
            if count != number { faults.append("the witness: \(count ?? 0) at version \(number)") }
            if number < version || number > version + 1 {
                faults.append("the witness: version \(number), \(version) was acknowledged")
            }
            lastKey += 1
            errand = .post(key: lastKey)
        }
        version = max(version, number)
    }

    static func number(after mark: String, in body: [UInt8]) -> UInt64? {
        let mark = Array(mark.utf8)
        guard body.count > mark.count else { return nil }
        for start in 0...(body.count - mark.count)
        where body[start..<(start + mark.count)].elementsEqual(mark) {
            let digits = body[(start + mark.count)...].prefix { (0x30...0x39).contains($0) }
            return UInt64(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }
}
