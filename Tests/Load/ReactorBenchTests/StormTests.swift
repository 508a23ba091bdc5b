import ReactorHosting
import Testing

@testable import reactor_bench

@Suite(
    "A storm covers all routes, is reproducible by seed, and detects faults",
    .timeLimit(.minutes(60)))
struct StormTests {
    private func requests() -> StormRequests {
        StormRequests(host: "h", sessions: 6, keptRecords: 20)
    }

    private func sent(_ seed: UInt64, _ count: Int) -> [StormRequest] {
        var random = SeededNumbers(seed: seed)
        var requests = requests()
        requests.readOnly = ["alerts-hot-0", "counter-witness-0"]
        for session in requests.sessions { requests.learn("abcdefgh.50", of: session) }
        return (0..<count).map { number in
            requests.next(for: requests.sessions[number % 6], &random)
        }
    }

    @Test func `the storm covers every route of the service and no other`() {
        let table = Set(Route.table.map { "\($0.method) \($0.path)" })
        #expect(Set(StormRoute.allCases.map(\.rawValue)) == table)
    }

    @Test func `a seed always gives the same bytes, another seed others`() {
        #expect(sent(1, 300).map(\.bytes) == sent(1, 300).map(\.bytes))
        #expect(sent(1, 300).map(\.bytes) != sent(2, 300).map(\.bytes))
    }

    @Test(arguments: StormRoute.allCases)
    func `each route comes within a thousand requests`(route: StormRoute) {
        let name = StormRequests.pathName(of: route) ?? "alerts-0"
        let line = "\(route.method) \(route.path(name))"
        #expect(sent(3, 4_000).contains { $0.line == line || $0.line.hasPrefix("\(line)?") })
    }

    @Test func `pages are requested at the edge of the kept history`() {
        let edges = sent(4, 4_000).filter { $0.line.contains("/log?") }
        for number in 25...35 {
            #expect(edges.contains { $0.line.contains("after=abcdefgh.\(number)") })
        }
    }

    @Test func `only the crew writes to its sessions`() {
        for request in sent(5, 5_000)
        where request.line.contains("-hot-") || request.line.contains("-witness-") {
            #expect(request.line.hasPrefix("GET ") || request.line.hasPrefix(StormGarbage.mark))
        }
    }

    @Test func `a deleted session gets another name`() {
        var requests = requests()
        var random = SeededNumbers(seed: 1)
        let first = requests.sessions[1]
        let before = requests.some(for: first, &random)
        #expect(before.first?.line == "PUT /v1/sessions/\(first)")
        requests.retire(first)
        requests.retire(first)
        let second = requests.sessions[1]
        #expect(second != first)
        #expect(StormRequests.reactor(of: second) == StormRequests.reactor(of: first))
        let after = requests.some(for: second, &random)
        #expect(after.first?.line == "PUT /v1/sessions/\(second)")
    }

    @Test func `garbage of every kind is sent to any route`() {
        var random = SeededNumbers(seed: 9)
        let lines = (0..<2_000).map { _ in
            StormGarbage.request(method: "GET", path: "/livez", host: "h", &random).line
        }
        for kind in ["NUL in a target", "a long target", "an open quote", "a tail", "known"] {
            #expect(lines.contains { $0.hasPrefix("\(StormGarbage.mark): \(kind)") })
        }
    }

    // MARK: Settings

    @Test func `a storm sets every setting that the server has`() {
        let chosen = Set(StormSettings.choices.map(\.name)).union(StormSettings.others)
        for setting in Setting.table { #expect(chosen.contains(setting.name)) }
    }

    @Test func `the server accepts every drawn value`() throws {
        for (name, values) in StormSettings.choices {
            for value in values {
                try SettingConstants.$areAdjustable.withValue(true) {
                    _ = try Configuration(typed: [name: value], environment: [:])
                }
            }
        }
    }

    @Test func `an option without a value is set by its name`() {
        var random = SeededNumbers(seed: 2)
        let words = { (value: String, random: inout SeededNumbers) in
            StormSettings(
                isFile: false, offered: ["wake-on-demand"], limits: ["wake-on-demand": value],
                &random
            ).words(journal: "j", secret: "s")
        }
        #expect(words("on", &random).suffix(1) == ["--wake-on-demand"])
        #expect(!words("off", &random).contains("--wake-on-demand"))
    }

    @Test func `only known settings are set, and later servers get those of the first`() {
        var random = SeededNumbers(seed: 2)
        let offered = StormSettings.offered(by: "  --batch-limit <number>  text\n  --admin <admin>")
        #expect(offered == ["batch-limit", "admin"])
        let first = StormSettings(isFile: true, offered: offered, limits: [:], &random)
        #expect(first.words(journal: "j", secret: "s").contains("file:j"))
        #expect(!first.words(journal: "j", secret: "s").contains("--keep-records"))
        for _ in 0..<20 {
            let next = StormSettings(
                isFile: true, offered: offered, limits: first.limits, &random)
            #expect(next.batch == first.batch)
        }
    }

    @Test func `a storm with tokens sends them, and the secret is the server's`() {
        var random = SeededNumbers(seed: 3)
        let settings = StormSettings(
            isFile: false, offered: ["auth"], limits: ["auth": "jwt"], &random)
        #expect(settings.hasTokens)
        #expect(settings.words(journal: "j", secret: "s").suffix(2) == ["--auth", "jwt"])
        #expect(settings.words(journal: "j", secret: "s").contains("s"))
        var requests = requests()
        requests.tokens = StormTokens.noise
        var sent: Set<String> = []
        for _ in 0..<2_000 {
            let request = requests.next(for: "alerts-0", &random)
            let text = String(decoding: request.bytes, as: UTF8.self)
            for token in StormTokens.noise where text.contains("Authorization: Bearer \(token)\r\n")
            {
                sent.insert(token)
            }
        }
        #expect(sent == Set(StormTokens.noise))
    }

    // MARK: Faults

    private func connection() -> StormConnection {
        var random = SeededNumbers(seed: 6)
        var requests = requests()
        return StormConnection(&requests, &random)
    }

    @Test(arguments: [(200, false), (404, false), (500, true), (502, true), (503, false)])
    func `a 500 is a fault, a response with Retry-After is none`(
        status: Int, isFault: Bool
    ) {
        var connection = connection()
        let fault = connection.began(status)
        #expect((fault != nil) == isFault)
        #expect(AnswerRules.isFault(501))
        #expect(!AnswerRules.isFault(501, isGarbage: true))
    }

    @Test func `positions are learnt from responses and streams`() {
        for body in [#"{"version":1,"position":"abcdefgh.7"}"#, "id: abcdefgh.7\ndata: 1\n\n"] {
            var connection = connection()
            _ = connection.began(200)
            let bytes = Array(body.utf8)
            let told = connection.read(bytes.span, 0..<bytes.count) ?? connection.ended()
            #expect(told == "abcdefgh.7")
        }
    }

    @Test func `a request is described on one line`() {
        var memory = ClientMemory()
        memory.sent(Array("GET /\r\n\"\0é".utf8))
        #expect(memory.lines.last?.hasSuffix(#"sends "GET /\r\n\"\x00\xc3\xa9""#) == true)
        for number in 0..<100 { memory.record("\(number)") }
        #expect(memory.lines.count == ClientMemory.limit)
        #expect(memory.lines.last?.hasSuffix(" 99") == true)
    }
}
