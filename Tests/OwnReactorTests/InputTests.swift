import Foundation
import ReactorHosting
import Reactors
import Testing

private struct NewAuction: Codable {
    var lot: String
}

/// Shows the lot, which is not in its state.
private struct Auction: Reactor {
    enum Action: TaggedCodable { case bid }

    struct State: Codable {
        var bids = 0
        var shown = ""
    }

    let id: String
    let lot: String
    let initialState = State()

    func reduce(state: inout State, mutation: Action) { state.bids += 1 }

    func transform(state: State) -> State {
        var state = state
        state.shown = "\(id): \(lot)"
        return state
    }
}

private enum Later {
    /// The member has another type, so stored inputs no longer decode.
    struct NewAuction: Codable {
        var lot: Int
    }
}

@Suite("Writing a reactor — the input with which a session was created", .timeLimit(.minutes(60)))
struct InputTests {
    private static let today = Hosted("auction", input: NewAuction.self) { session in
        Auction(id: session.id, lot: session.input.lot)
    }

    // The guide to writing a reactor has this code word for word.
    @Test func `is given to the reactor when it is made`() async throws {
        struct NewAuction: Codable {
            var lot: String
            var limit: Int?
        }

        let hosted = Hosted("auction", input: NewAuction.self) { session in
            Auction(id: session.id, lot: session.input.lot)
        }
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "reactor.sqlite").path
        try await serving(hosted, journal: path) { client in
            let body = #"{"reactor":"auction","input":{"lot":"A lamp"}}"#
            client.say("PUT", "/v1/sessions/auction-7", body)
            try client.expect("HTTP/1.1 201 ", before: "}\n")
            client.say("GET", "/v1/sessions/auction-7")
            try client.expect(#""shown":"auction-7: A lamp""#, before: "}}\n")
        }
    }

    @Test func `is there after a restart, and a program that cannot read it says so`()
        async throws
    {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "reactor.sqlite").path
        try await serving(Self.today, journal: path) { client in
            client.say("PUT", "/v1/sessions/a", #"{"reactor":"auction","input":{"lot":"lamp"}}"#)
            try client.expect("HTTP/1.1 201 ", before: "}\n")
            client.say("POST", "/v1/sessions/a/actions", #"{"type":"bid"}"#)
            try client.expect(#""version":1"#, before: "}\n")
        }
        let later = Hosted("auction", input: Later.NewAuction.self) { session in
            Auction(id: session.id, lot: "\(session.input.lot)")
        }
        try await serving(later, journal: path) { client in
            client.say("GET", "/v1/sessions/a")
            let answer = try client.hear("}\n")
            #expect(answer.contains("session_quarantined"))
            #expect(answer.contains("the session a cannot be rebuilt at the input: today's"))
            #expect(answer.contains("/lot"))
        }
        try await serving(Self.today, journal: path) { client in
            client.say("GET", "/v1/sessions/a")
            let answer = try client.hear("}}\n")
            #expect(
                answer.contains(
                    #""input":{"lot":"lamp"},"state":{"bids":1,"shown":"a: lamp"}"#))
        }
    }

    @Test func `is nil in the sessions of a program that had no input`() async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "reactor.sqlite").path
        let before = Hosted("auction") { Auction(id: "", lot: "") }
        try await serving(before, journal: path) { client in
            client.say("PUT", "/v1/sessions/a", #"{"reactor":"auction"}"#)
            try client.expect("HTTP/1.1 201 ", before: "}\n")
        }
        try await serving(Self.today, journal: path) { client in
            client.say("GET", "/v1/sessions/a")
            let answer = try client.hear("}\n")
            #expect(
                answer.contains(
                    "the session a cannot be rebuilt at the input: the session was created without "
                        + "one, but today's reactor needs it: NewAuction is not optional"))
        }
        let optional = Hosted("auction", input: NewAuction?.self) { session in
            Auction(id: session.id, lot: session.input?.lot ?? "none")
        }
        try await serving(optional, journal: path) { client in
            client.say("GET", "/v1/sessions/a")
            try client.expect(#""shown":"a: none""#, before: "}}\n")
        }
    }

    @Test func `an example is made up, or the server asks for one`() async throws {
        struct Even: Codable {
            let number: Int

            init(from decoder: any Decoder) throws {
                number = try decoder.singleValueContainer().decode(Int.self)
                guard number.isMultiple(of: 2) else {
                    throw DecodingError.dataCorrupted(
                        .init(codingPath: decoder.codingPath, debugDescription: "it is odd"))
                }
            }

            init(number: Int) { self.number = number }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(number)
            }
        }
        let asked = Hosted("even", input: Even.self) { session in
            Auction(id: session.id, lot: "\(session.input.number)")
        }
        let given = Hosted("even", input: Even.self, inputExamples: [Even(number: 2)]) { session in
            Auction(id: session.id, lot: "\(session.input.number)")
        }
        let failure = await #expect(throws: ConfigurationFailure.self) {
            try await ReactorServer(hosting: [asked]).run()
        }
        #expect(failure?.description.contains("inputExamples: [Even(…)]") == true)
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await serving(given, journal: folder.appending(path: "j.sqlite").path) { client in
            client.say("PUT", "/v1/sessions/a", #"{"reactor":"even","input":7}"#)
            try client.expect("it is odd", before: "}\n")
        }
    }
}

extension PlainClient {
    fileprivate func expect(_ words: String, before end: String) throws {
        let answer = try hear(end)
        #expect(answer.contains(words))
    }
}
