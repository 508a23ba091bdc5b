import ReactorServer
import Testing

@testable import reactor_bench

@Suite(
    "A storm sends everything, the same again for the same seed, and sees what is wrong",
    .timeLimit(.minutes(5)))
struct StormTests {
    private func requests() -> StormRequests {
        StormRequests(host: "h", sessions: 6, keptRecords: 20)
    }

    private func sent(_ seed: UInt64, _ count: Int) -> [StormRequest] {
        var random = SeededNumbers(seed: seed)
        var requests = requests()
        for session in requests.sessions { requests.learn("abcdefgh.50", of: session) }
        return (0..<count).map { number in
            requests.next(for: requests.sessions[number % 6], &random)
        }
    }

    @Test func `every route of the service is stormed, and no other`() {
        let table = Set(Route.table.map { "\($0.method) \($0.path)" })
        #expect(Set(StormRoute.allCases.map(\.rawValue)) == table)
    }

    @Test func `one seed sends the same bytes again, another one others`() {
        #expect(sent(1, 300).map(\.bytes) == sent(1, 300).map(\.bytes))
        #expect(sent(1, 300).map(\.bytes) != sent(2, 300).map(\.bytes))
    }

    @Test(arguments: StormRoute.allCases)
    func `each route comes within a thousand requests`(route: StormRoute) {
        let name = route == .publishTopic ? "currentUser" : "alerts-0"
        let line = "\(route.method) \(route.path(name))"
        #expect(sent(3, 4_000).contains { $0.line == line || $0.line.hasPrefix("\(line)?") })
    }

    @Test func `pages are asked for at the edge of what is kept`() {
        let edges = sent(4, 2_000).filter { $0.line.contains("/log?") }
        for number in 25...35 {
            #expect(edges.contains { $0.line.contains("after=abcdefgh.\(number)") })
        }
    }

    @Test func `nobody but the witness writes to its session`() {
        for request in sent(5, 5_000) where request.line.contains(StormRequests.witness) {
            #expect(request.line.hasPrefix("GET ") || request.line.hasPrefix("garbage"))
        }
    }

    // MARK: Faults

    private func connection() -> StormConnection {
        var random = SeededNumbers(seed: 6)
        var requests = requests()
        return StormConnection(&requests, &random)
    }

    @Test(arguments: [(200, false), (404, false), (500, true), (502, true), (503, false)])
    func `an answer of 500 is a fault, one that says to come again is none`(
        status: Int, isFault: Bool
    ) {
        var connection = connection()
        let text = "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\n{}"
        let fault = connection.receive(Array(text.utf8).span) { _ in }
        #expect((fault != nil) == isFault)
    }

    @Test func `what is no answer is a fault, and is told once`() {
        var connection = connection()
        let bytes = Array("garbage garbage garbage\r\n\r\n".utf8)
        #expect(connection.receive(bytes.span) { _ in } != nil)
        #expect(connection.receive(bytes.span) { _ in } == nil)
    }

    @Test func `positions are learnt from answers and from streams`() {
        var told: [String] = []
        for body in [#"{"version":1,"position":"abcdefgh.7"}"#, "id: abcdefgh.9\ndata: 1\n\n"] {
            var connection = connection()
            let text = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            _ = connection.receive(Array(text.utf8).span) { told.append($0) }
        }
        #expect(told == ["abcdefgh.7", "abcdefgh.9"])
    }

    // MARK: The witness

    /// A witness that has created its session and counted to `count`.
    private func witness(_ count: UInt64) -> StormWitness {
        var witness = StormWitness()
        var faults: [String] = []
        _ = answer(&witness, 201, #"{"version":0,"position":"abcdefgh.0"}"#, &faults)
        for number in 0..<count {
            _ = answer(&witness, 200, seen(number, number), &faults)
            _ = answer(
                &witness, 200, #"{"version":\#(number + 1),"position":"abcdefgh.\#(number + 1)"}"#,
                &faults)
        }
        #expect(faults == [])
        return witness
    }

    private func seen(_ version: UInt64, _ count: UInt64, _ generation: String = "abcdefgh")
        -> String
    {
        #"{"version":\#(version),"position":"\#(generation).\#(version)","state":{"count":\#(count)}}"#
    }

    private func answer(
        _ witness: inout StormWitness, _ status: Int, _ body: String, _ faults: inout [String]
    ) -> Bool {
        _ = witness.request(host: "h")
        let text = "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        return witness.receive(Array(text.utf8).span, &faults)
    }

    private func faults(_ status: Int, _ body: String) -> [String] {
        var witness = witness(3)
        witness.serverStarted()
        var faults: [String] = []
        #expect(answer(&witness, status, body, &faults))
        return faults
    }

    @Test func `what was acknowledged is there after a kill, and at most one more`() {
        #expect(faults(200, seen(3, 3)) == [])
        #expect(faults(200, seen(4, 4)) == [])
        #expect(faults(503, "{}") == [])
    }

    @Test func `what is lost, doubled or another life is a fault`() {
        #expect(faults(200, seen(2, 2)) != [])
        #expect(faults(200, seen(5, 5)) != [])
        #expect(faults(200, seen(3, 2)) != [])
        #expect(faults(200, seen(3, 3, "hgfedcba")) != [])
        #expect(faults(410, "{}") != [])
    }
}
