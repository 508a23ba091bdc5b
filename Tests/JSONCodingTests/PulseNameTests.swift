import JSONCoding
import Reactors
import Testing

private struct Room: Codable {
    @Pulse var newest: String?
    @Pulse var typing: [String] = []
    var inner = Inner()
    @Pulse var alert: Int = 0

    enum CodingKeys: String, CodingKey {
        case newest, typing, inner
        case alert = "warning"
    }

}

private struct Inner: Codable {
    @Pulse var hidden = 1
}

private struct Twins: Codable {
    @Pulse var left: Int
    @Pulse var right: Int

    init() {
        let pulse = Pulse(wrappedValue: 1)
        _left = pulse
        _right = pulse
    }
}

@Suite("the name of a pulse", .timeLimit(.minutes(60)))
struct PulseNameTests {
    @Test func `a key path to a pulse has the name of its field on the wire`() throws {
        var room = Room()
        room.typing = ["ada"]
        let text = #"{"typing":["b"],"inner":{"hidden":2},"warning":3}"#
        let decoded = try JSON.decode(Room.self, from: Array(text.utf8))
        for state in [Room(), room, decoded] {
            #expect(JSON.pulseName(at: \.$newest, in: state) == "newest")
            #expect(JSON.pulseName(at: \.$typing, in: state) == "typing")
            #expect(JSON.pulseName(at: \.$alert, in: state) == "warning")
        }
    }

    @Test func `pulses that are copies of each other keep their names`() {
        #expect(JSON.pulseName(at: \.$left, in: Twins()) == "left")
        #expect(JSON.pulseName(at: \.$right, in: Twins()) == "right")
    }

    @Test func `a pulse inside a struct inside the state has no name`() {
        #expect(JSON.pulseName(at: \.inner.$hidden, in: Room()) == nil)
    }
}
