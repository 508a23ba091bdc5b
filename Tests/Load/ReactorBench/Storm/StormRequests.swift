// Random requests; the seed and the positions in earlier responses decide them.

/// A request as a storm sends it.
struct StormRequest {
    var bytes: [UInt8]
    /// Its request line, for the report.
    var line: String
    /// Whether the response is a stream, which lasts until one side closes it.
    var isStream = false
}

/// Makes requests.
struct StormRequests {
    var host: String
    /// A request has one of them; empty if the server needs none.
    var tokens: [String] = []
    /// The hosted reactors.
    static let reactors = [
        "alerts", "counter", "chat", "job", "countdown", "conversation", "document",
    ]

    /// The names of sessions; each begins with its reactor's name. A deleted session gets a new
    /// name: the server answers 410 to the old name for good.
    private(set) var sessions: [String]
    /// The sessions whose creation was requested.
    private var asked: Set<String> = []
    /// Sessions that are read and never written.
    var readOnly: [String] = []
    private var renamed = 0
    /// The number of records that the server keeps in memory.
    var keptRecords: Int
    /// The 16 newest positions in responses, by session.
    private var positions: [String: [String]] = [:]

    init(host: String, sessions: Int, keptRecords: Int) {
        self.host = host
        self.keptRecords = keptRecords
        self.sessions = (0..<sessions).map { index in
            "\(Self.reactors[index % Self.reactors.count])-\(index)"
        }
    }

    mutating func learn(_ position: String, of session: String) {
        positions[session, default: []].append(position)
        if positions[session, default: []].count > 16 { positions[session]?.removeFirst() }
    }

    /// Another server process is running, without sessions.
    mutating func forget() {
        asked = []
        positions = [:]
    }

    /// Replaces the name of a session that was deleted.
    mutating func retire(_ session: String) {
        guard let index = sessions.firstIndex(of: session) else { return }
        renamed += 1
        positions[session] = nil
        sessions[index] = "\(Self.reactor(of: session))-\(index)-\(renamed)"
    }

    // MARK: Requests

    /// One or more requests; the first for a session is preceded by one that creates it.
    mutating func some(for home: String, _ random: inout SeededNumbers) -> [StormRequest] {
        let count =
            Int.random(in: 0..<3, using: &random) == 0
            ? Int.random(in: 2...40, using: &random) : 1
        var made: [StormRequest] = []
        if asked.insert(home).inserted {
            let line = "PUT /v1/sessions/\(home)"
            let body = Array("{\"reactor\":\"\(Self.reactor(of: home))\"}".utf8)
            let fields = [host(&random), "Content-Type: application/json"]
            made.append(
                StormRequest(
                    bytes: Array("\(line) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n".utf8)
                        + Self.sized(body, body.count), line: line))
        }
        for _ in 0..<count {
            made.append(next(for: home, &random))
            // The server answers no request after a stream.
            if made.last?.isStream == true { break }
        }
        return made
    }

    /// The text after `Host: ` in a request: the host and, with a token, its field.
    static func host(_ host: String, _ token: String?) -> String {
        token.map { "\(host)\r\nAuthorization: Bearer \($0)" } ?? host
    }

    /// The part of the path that is in braces, if it is no session.
    static func pathName(of route: StormRoute) -> String? {
        switch route {
        case .publishTopic: "currentUser"
        case .consoleFile: "console.js"
        case .demoFile: "demo.js"
        case .clientFile: "machine.js"
        default: nil
        }
    }

    /// `Host` and, if the server needs it, a token.
    private func host(_ random: inout SeededNumbers) -> String {
        let isForgotten = Int.random(in: 0..<40, using: &random) == 0
        let token = isForgotten ? nil : tokens.randomElement(using: &random)
        return "Host: \(Self.host(host, token))"
    }

    /// 64 KiB of the same request, whose response is large.
    func flood(of home: String, _ random: inout SeededNumbers) -> [StormRequest] {
        let crowded = readOnly.first ?? home
        let paths = [
            "/openapi.yaml", "/metrics", "/v1/sessions/\(home)",
            "/v1/sessions/\(crowded)/log?limit=1000", "/v1/sessions/\(crowded)/log?limit=1000",
        ]
        let line = "GET \(paths.randomElement(using: &random) ?? "/openapi.yaml")"
        let bytes = Array("\(line) HTTP/1.1\r\n\(host(&random))\r\n\r\n".utf8)
        return [StormRequest](
            repeating: StormRequest(bytes: bytes, line: line), count: 65_536 / bytes.count)
    }

    /// A request, mostly to this session.
    mutating func next(for home: String, _ random: inout SeededNumbers) -> StormRequest {
        let route = StormRoute.random(&random)
        if Int.random(in: 0..<16, using: &random) == 0 {
            return StormGarbage.request(
                method: route.method, path: route.path(home), host: host, &random)
        }
        let session = target(route, home, &random)
        var fields = [host(&random)]
        var body: [UInt8]?
        var query: [String] = []
        switch route {
        case .postActions:
            body = StormBodies.actions(of: Self.reactor(of: session), &random)
            query = waiting(&random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                query.append("reactor=\(Self.reactor(of: session))")
            }
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
        case .streamSessions: query = severalSessions(session, &fields, &random)
        case .listSessions:
            query = ["limit=\(Int.random(in: 0...5, using: &random))", "after=\(session)"]
            if Bool.random(using: &random) {
                query.append("prefix=\(session.prefix(Int.random(in: 0...9, using: &random)))")
            }
            if Bool.random(using: &random) {
                let phase = ["idle", "running", "finished", ""].randomElement(using: &random) ?? ""
                query = ["limit=\(Int.random(in: 1...50, using: &random))", "tag=phase:\(phase)"]
                if Bool.random(using: &random) { query.append("sort=changed&reactor=job") }
                if Bool.random(using: &random) { fields.append("Accept: text/event-stream") }
            }
        case .createTicket: body = Array("{\"stream\":\"/v1/sessions/\(session)/pulses\"}".utf8)
        case .setCookie, .removeCookie, .deleteSession, .readStub, .readRuntime, .readPresence,
            .listReactors,
            .livez, .readyz, .metrics, .openapi, .home, .console, .consoleFile, .client,
            .clientFile, .clientOutbox, .clientHook, .demo, .demoFile:
            break
        }
        let path = route.path(Self.pathName(of: route) ?? session)
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

    private func target(
        _ route: StormRoute, _ home: String, _ random: inout SeededNumbers
    ) -> String {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: return "no%2Fsession"
        case 1: return String(repeating: "x", count: 140)
        case 2..<6: return sessions.randomElement(using: &random) ?? home
        case 6..<10 where route.method == "GET" || route == .createSession:
            return readOnly.randomElement(using: &random) ?? home
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
            // A small range, so that keys repeat.
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

    /// A position of the session: known, at the edge of the server's memory, too high, or invalid.
    func place(_ session: String, _ random: inout SeededNumbers) -> String? {
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
            if Bool.random(using: &random) { query.append("form=patch") }
        case .streamEvents:
            if Bool.random(using: &random) { query.append("only=states,activities") }
            if Bool.random(using: &random) { query.append("form=patch") }
        case .streamPulses:
            if Int.random(in: 0..<4, using: &random) == 0 { query.append("pulse=newest") }
        default: break
        }
        if Int.random(in: 0..<4, using: &random) == 0 { query.append("ping=events") }
        if Int.random(in: 0..<3, using: &random) == 0 { query.append("presence=on") }
        if Int.random(in: 0..<3, using: &random) == 0 {
            query.append("as=\(Int.random(in: 0..<150, using: &random))")
        }
        return query
    }

    // MARK: Bytes

    /// Mostly correct framing: a length, or chunks. Sometimes neither.
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
}
