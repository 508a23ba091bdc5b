import ReactorHosting
import Reactors
import Testing

@Suite("README — a package hosts its own reactor", .timeLimit(.minutes(60)))
struct OwnReactorTests {
    @Test func `a session is created, posted to and streamed until the server stops`()
        async throws
    {
        let (addresses, told) = AsyncStream<String>.makeStream()
        let serving = Task { try await serveLamps { told.yield($0) } }
        var address: String?
        for await one in addresses {
            address = one
            break
        }
        let client = try PlainClient(try #require(address))
        client.say("PUT", "/v1/sessions/kitchen", #"{"reactor":"lamp"}"#)
        #expect(try client.hear("}\n").hasPrefix("HTTP/1.1 201 "))

        let reader = try PlainClient(try #require(address))
        reader.say("GET", "/v1/sessions/kitchen/pulses")
        let opening = try reader.hear("data: {\"isOn\":false}\n\n")
        #expect(opening.contains("Content-Type: text/event-stream; charset=utf-8\r\n"))
        #expect(opening.contains("\nevent: snapshot\n"))

        client.say("POST", "/v1/sessions/kitchen/actions", #"{"type":"press"}"#)
        #expect(try client.hear("}").contains(#"{"version":1,"position":""#))
        #expect(try reader.hear("data: true\n\n").contains("event: isOn\n"))

        serving.cancel()
        try await serving.value
        try reader.hearTheEnd()
    }

    @Test func `reactors that can't be hosted are all refused together`() async {
        let server = ReactorServer(hosting: [
            Hosted("lamp") { Lamp() }, Hosted("lamp") { Lamp() }, Hosted("a lamp") { Lamp() },
            Hosted("bad") { Badly() },
        ])
        let failure = await #expect(throws: ConfigurationFailure.self) { try await server.run() }
        #expect(failure?.sentences.count == 3)
        #expect(failure?.description.contains("\"a lamp\"") == true)
        #expect(failure?.description.contains("snapshot is reserved") == true)
    }
}

/// The name of its pulse is reserved by the service.
private struct Badly: Reactor {
    enum Action: TaggedCodable, Sendable {
        case nothing
    }

    struct State: Codable, Sendable {
        @Pulse var snapshot = 0
    }

    let initialState = State()
}
