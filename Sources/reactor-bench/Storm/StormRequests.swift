// One request after the other, decided by the seed and by the positions that the server told.

/// A request as a storm sends it.
struct StormRequest {
    var bytes: [UInt8]
    /// Its first line, for the report.
    var line: String
    /// A stream, which ends when somebody ends it.
    var isStream = false
}

/// Makes requests.
struct StormRequests {
    private let host: String
    /// The names of sessions; each begins with its reactor's.
    let sessions: [String]
    /// Records that the server keeps: the edge of its memory is that far behind.
    private let keptRecords: Int
    /// Positions that were told, of each session; the newest 16.
    private var positions: [String: [String]] = [:]

    /// The session that only the witness posts to.
    static let witness = "counter-witness"

    init(host: String, sessions: Int, keptRecords: Int) {
        self.host = host
        self.keptRecords = keptRecords
        let reactors = ["alerts", "counter", "chat", "job"]
        self.sessions = (0..<sessions).map { "\(reactors[$0 % 4])-\($0)" }
    }

    mutating func learn(_ position: String, of session: String) {
        positions[session, default: []].append(position)
        if positions[session, default: []].count > 16 { positions[session]?.removeFirst() }
    }

    /// A request, mostly to this session.
    mutating func next(for home: String, _ random: inout SeededNumbers) -> StormRequest {
        if Int.random(in: 0..<25, using: &random) == 0 { return garbage(home, &random) }
        let route = StormRoute.random(&random)
        let session = target(route, home, &random)
        var fields = ["Host: \(host)"]
        var body: [UInt8]?
        var query: [String] = []
        switch route {
        case .postActions:
            body = StormBodies.actions(of: Self.reactor(of: session), &random)
            query = waiting(&random)
            addConditions(session, &fields, &random)
        case .putSession:
            body = StormBodies.session(Self.reactor(of: session), from: nil, &random)
        case .createSession:
            let isFork = Bool.random(using: &random)
            body = StormBodies.session(
                Self.reactor(of: session), from: isFork ? session : nil, &random)
        case .putStub: body = StormBodies.stub(&random)
        case .publishTopic: body = Array("\"news\"".utf8)
        case .readSession:
            if Bool.random(using: &random) {
                query = ["version=\(Int.random(in: -1...80, using: &random))"]
            }
            if let tag = place(session, &random) { fields.append("If-None-Match: \"\(tag)\"") }
        case .readLog: query = page(session, &fields, &random)
        case .streamPulses, .streamStates, .streamEvents, .streamActivities:
            query = stream(route, session, &fields, &random)
        case .listSessions:
            query = ["limit=\(Int.random(in: 0...5, using: &random))", "after=\(session)"]
        case .deleteSession, .readStub, .listReactors, .livez, .readyz, .metrics, .openapi: break
        }
        let path = route.path(route == .publishTopic ? "currentUser" : session)
        let target = query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
        let line = "\(route.method) \(target)"
        let isStream = route.isStream || fields.contains("Accept: text/event-stream")
        return StormRequest(
            bytes: Self.write("\(line) HTTP/1.1", fields, body, &random), line: line,
            isStream: isStream)
    }

    static func reactor(of session: String) -> String {
        String(session.prefix { $0 != "-" })
    }

    /// The witness's session is read and never written.
    private func target(
        _ route: StormRoute, _ home: String, _ random: inout SeededNumbers
    ) -> String {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: return "no%2Fsession"
        case 1: return String(repeating: "x", count: 140)
        case 2..<6: return sessions.randomElement(using: &random) ?? home
        case 6..<9 where route.method == "GET" || route == .createSession: return Self.witness
        default: return home
        }
    }

    // MARK: Parts

    private func waiting(_ random: inout SeededNumbers) -> [String] {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: ["wait=settled", "timeout=\(Int.random(in: 0...400, using: &random))ms"]
        case 1: ["wait=settled"]
        case 2: ["wait=never", "timeout=soon"]
        default: []
        }
    }

    private func addConditions(
        _ session: String, _ fields: inout [String], _ random: inout SeededNumbers
    ) {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: fields.append("If-Match: *")
        case 1: fields.append("If-Match: \"\(place(session, &random) ?? "none")\"")
        case 2..<6:
            // Few, so that they come again.
            fields.append("Idempotency-Key: k\(Int.random(in: 0..<40, using: &random))")
        case 6: fields.append("Idempotency-Key: once-\(random.next())")
        default: break
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
            fields.append("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        case 1:
            let tail = String(repeating: "a", count: 3_000)
            fields.append(
                "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\(tail)")
        default: break
        }
    }

    /// A position of the session: told, at the edge of what memory keeps, ahead, or none at all.
    private func place(_ session: String, _ random: inout SeededNumbers) -> String? {
        let told = positions[session]?.randomElement(using: &random)
        guard let told, let dot = told.firstIndex(of: "."),
            let number = Int(told[told.index(after: dot)...].prefix { $0 != "." })
        else { return Bool.random(using: &random) ? "garbage" : nil }
        let generation = told[..<dot]
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return nil
        case 1: return "\(generation).18446744073709551615"
        case 2: return "aaaaaaaa.\(number)"
        case 3: return "\(generation).0"
        case 4: return "\(generation).\(number).\(Int.random(in: 0...3, using: &random))"
        case 5, 6: return told
        default:
            let back = keptRecords + Int.random(in: -6...6, using: &random)
            return "\(generation).\(max(0, number - back))"
        }
    }

    private func page(
        _ session: String, _ fields: inout [String], _ random: inout SeededNumbers
    ) -> [String] {
        if Int.random(in: 0..<4, using: &random) == 0 { fields.append("Accept: text/event-stream") }
        var query: [String] = []
        if let place = place(session, &random) { query.append("after=\(place)") }
        if Bool.random(using: &random) {
            query.append("limit=\([1, 2, 100, 0, 100_000].randomElement(using: &random) ?? 1)")
        }
        if Int.random(in: 0..<8, using: &random) == 0 { query.append("from=start") }
        return query
    }

    private func stream(
        _ route: StormRoute, _ session: String, _ fields: inout [String],
        _ random: inout SeededNumbers
    ) -> [String] {
        var query: [String] = []
        switch Int.random(in: 0..<6, using: &random) {
        case 0: query.append("from=start")
        case 1: query.append("from=now")
        case 2: query.append("from=\u{2603}")
        default: break
        }
        if let place = place(session, &random) {
            if Bool.random(using: &random) {
                fields.append("Last-Event-ID: \(place)")
            } else {
                query.append("after=\(place)")
            }
        }
        switch route {
        case .streamStates:
            let part = ["/count", "/messages/0", "", "no pointer"].randomElement(using: &random)
            if Bool.random(using: &random), let part { query.append("select=\(part)") }
        case .streamEvents:
            if Bool.random(using: &random) { query.append("only=states,activities") }
        case .streamPulses:
            if Int.random(in: 0..<4, using: &random) == 0 { query.append("pulse=newest") }
        default: break
        }
        if Int.random(in: 0..<4, using: &random) == 0 { query.append("ping=events") }
        return query
    }

    // MARK: Bytes

    /// Mostly as it should be: a length, or chunks; sometimes neither.
    static func write(
        _ line: String, _ fields: [String], _ body: [UInt8]?, _ random: inout SeededNumbers
    ) -> [UInt8] {
        var head = "\(line)\r\n\(fields.joined(separator: "\r\n"))\r\n"
        guard let body else { return Array((head + "\r\n").utf8) }
        let types = ["application/json", "application/json", "application/json; charset=utf-8"]
        let isOdd = Int.random(in: 0..<30, using: &random) == 0
        head += "Content-Type: \(isOdd ? "text/plain" : types.randomElement(using: &random) ?? "")"
        head += "\r\n"
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1, 2:
            return Array((head + "Transfer-Encoding: chunked\r\n\r\n").utf8)
                + chunks(body, &random)
        case 3: return Array((head + "Expect: 100-continue\r\n").utf8) + sized(body, body.count)
        case 4: return Array(head.utf8) + sized(body, max(0, body.count - 1))
        default: return Array(head.utf8) + sized(body, body.count)
        }
    }

    private static func sized(_ body: [UInt8], _ length: Int) -> [UInt8] {
        Array("Content-Length: \(length)\r\n\r\n".utf8) + body
    }

    private static func chunks(_ body: [UInt8], _ random: inout SeededNumbers) -> [UInt8] {
        var out: [UInt8] = []
        var rest = body[...]
        let odd = ["g\r\n", "-1\r\n", "ffffffffffffffffff\r\n", "5;=\u{7}\r\n", "\r\n"]
        while !rest.isEmpty {
            if Int.random(in: 0..<40, using: &random) == 0 {
                out += Array((odd.randomElement(using: &random) ?? "").utf8)
            }
            let size = min(rest.count, Int.random(in: 1...4_000, using: &random))
            let mark = Bool.random(using: &random) ? ";a=\"b\"" : ""
            out += Array("\(String(size, radix: 16))\(mark)\r\n".utf8)
            out += rest.prefix(size)
            out += [0x0D, 0x0A]
            rest = rest.dropFirst(size)
        }
        return out + Array("0\r\n\r\n".utf8)
    }

    /// What is no HTTP, or no request of anybody.
    private func garbage(_ home: String, _ random: inout SeededNumbers) -> StormRequest {
        let path = "/v1/sessions/\(home)/actions"
        let known = HostileRequests.texts(path: path, authority: host)
        var bytes = Array((known.randomElement(using: &random) ?? "").utf8)
        if Bool.random(using: &random), !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
        let line = String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self)
        return StormRequest(bytes: bytes, line: "garbage: \(line)")
    }
}
