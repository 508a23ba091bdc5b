import Synchronization
import Testing

@testable import JSONCoding

@Suite("A long scan pauses often, and finds the same", .timeLimit(.minutes(60)))
struct PauseTests {
    private final class Count: Sendable {
        private let value = Atomic(0)
        func increase() { value.add(1, ordering: .relaxed) }
        var now: Int { value.load(ordering: .relaxed) }
    }

    private static let wideObject =
        "{\((1...5_000).map { "\"k\($0)\":\($0)" }.joined(separator: ","))}"
    private static let escapedKeys =
        "{\((1...5_000).map { "\"\\u006b\($0)\":1" }.joined(separator: ","))}"
    private static let longArray = "[\(Array(repeating: "0", count: 5_000).joined(separator: ","))]"
    private static let manyObjects =
        "[\(Array(repeating: "{\"a\":[]}", count: 2_000).joined(separator: ","))]"

    /// The pauses: one for each 512 nodes, and one for each 512 keys of an object that
    /// gets a table.
    @Test(arguments: [
        (wideObject, 10_001 / 512 + 5_000 / 512), (escapedKeys, 10_001 / 512 + 5_000 / 512),
        (longArray, 5_001 / 512), (manyObjects, 6_001 / 512), ("{\"type\":\"increment\"}", 0),
    ])
    func `pauses by the work done`(text: String, pauses: Int) throws {
        let (bytes, count) = (Array(text.utf8), Count())
        let body = JSONBody(scanning: bytes, pauses: JSONPauses { count.increase() })
        #expect(count.now == pauses)
        let value = try JSON.decode(JSONValue.self, from: body)
        #expect(try value == JSON.decode(JSONValue.self, from: JSONBody(bytes)))
    }

    @Test func `an error is found after pauses`() {
        let (bytes, count) = (Array("[\(String(repeating: "1,", count: 2_000))".utf8), Count())
        let body = JSONBody(scanning: bytes, pauses: JSONPauses { count.increase() })
        #expect(count.now == 2_001 / 512)
        #expect(throws: JSONRefusal.self) { try JSON.decode(JSONValue.self, from: body) }
    }
}
