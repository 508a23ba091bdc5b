import Testing
import Wire

@testable import ReactorHosting

@Suite("Contract §8 — an unknown parameter is 400", .timeLimit(.minutes(60)))
struct ParameterTests {
    private func check(_ operation: String, _ query: String) throws {
        var request = try HeadOf("GET", "/a?\(query)").request
        request.route = Route.table.first { $0.operationID == operation }
        try #require(request.route != nil)
        try request.refuseUnknownParameters()
    }

    @Test(arguments: [
        ("streamPulses", "lastEventId=x", "from, after, ping, ticket, as, presence, pulse"),
        ("streamPulses", "pulse=a&puls=b", "from, after, ping, ticket, as, presence, pulse"),
        ("streamPulses", "Pulse=a", "from, after, ping, ticket, as, presence, pulse"),
        ("streamPulses", "pulse%20=a", "from, after, ping, ticket, as, presence, pulse"),
        ("streamSessions", "session=a&select=/x", "session"), ("readSession", "x", "version"),
        ("readSession", "=1", "version"), ("livez", "verbose", "none"),
        ("deleteSession", "force=1&", "none"),
        ("postActions", "&&wait=settled&&x=1", "wait, timeout"),
    ])
    func `it is named, with those that there are`(
        operation: String, query: String, known: String
    ) {
        let problem = #expect(throws: Problem.self) { try check(operation, query) }
        #expect(problem?.status == 400)
        #expect(problem?.code == "unknown_parameter")
        #expect(problem?.detail.contains(known) == true)
    }

    @Test(arguments: [
        ("streamPulses", "pulse=a&pulse=b&after=x.1&from=now&ping=events&ticket=1"),
        ("streamPulses", "%70ulse=a"), ("readSession", ""), ("readSession", "&&"),
        ("postActions", "wait=settled&timeout=1s"), ("livez", ""), ("client", "v=1"),
    ])
    func `known ones pass, and a page takes any: they are for its script`(
        operation: String, query: String
    ) throws { try check(operation, query) }

    @Test func `a name that is not well formed is named as such`() {
        let problem = #expect(throws: Problem.self) { try check("livez", "a=1&%zz=1") }
        #expect(problem?.code == "unknown_parameter", "the first one")
        let second = #expect(throws: Problem.self) { try check("readSession", "version=1&%zz=1") }
        #expect(second?.code == "malformed_percent_escape")
        #expect(second?.detail.contains("Item 2") == true)
    }
}
