import Foundation
import Reactors
import Testing

@Suite("Case 18 — a pulse is encoded as its bare value", .timeLimit(.minutes(60)))
struct PulseCodableTests {
    private struct State: Codable, Equatable {
        @Pulse var alertMessage: String?
        @Pulse var count = 1
    }

    private func decode(_ text: String) throws -> State {
        try JSONDecoder().decode(State.self, from: Data(text.utf8))
    }

    private func encode(_ state: State) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(state), as: UTF8.self)
    }

    @Test func `a value and null are written as such`() throws {
        var state = State()
        #expect(try encode(state) == #"{"alertMessage":null,"count":1}"#)
        state.alertMessage = "x"
        #expect(try encode(state) == #"{"alertMessage":"x","count":1}"#)
    }

    @Test func `decoding is no assignment and gives a new lineage`() throws {
        let first = try decode(#"{"alertMessage":"x","count":2}"#)
        let second = try decode(#"{"alertMessage":"x","count":2}"#)
        #expect(first.alertMessage == "x")
        #expect(first.$alertMessage.valueUpdatedCount == 0)
        #expect(first == second)
        #expect(first.$count.mark.lineage != second.$count.mark.lineage)
    }

    @Test(arguments: [#"{"count":2}"#, #"{"alertMessage":null,"count":2}"#])
    func `a missing key of an optional pulse is nil, like null`(text: String) throws {
        #expect(try decode(text).alertMessage == nil)
    }

    @Test func `a missing key of another pulse is an error`() {
        #expect(throws: DecodingError.self) { try decode(#"{"alertMessage":"x"}"#) }
    }
}
