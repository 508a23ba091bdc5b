import JSONCoding
import Reactors
import Sessions
import Testing

@testable import ReactorHosting

@Suite("GET /v1/reactors — its size is bounded", .timeLimit(.minutes(60)))
struct ReactorListTests {
    private struct Speaker: Reactor {
        enum Action: TaggedCodable, Sendable { case say(text: String) }
        struct State: Codable, Sendable { @Pulse var last = "" }
        let initialState = State()
    }

    private struct Next: Reactor {
        enum Action: TaggedCodable, Sendable { case say(text: String) }
        struct State: Codable, Sendable { var last = "" }
        static let stateVersion = 7
        let initialState = State()
    }

    private func speaker(_ name: String, _ sizes: [Int]) throws -> Registration {
        try Registration(
            name: name, activities: [],
            examples: sizes.map { .say(text: String(repeating: "x", count: $0)) },
            clock: ContinuousClock(), make: { Speaker() })
    }

    private func page(
        _ reactors: [Registration], _ isVisible: (String) -> Bool = { _ in true }
    ) throws -> [JSONValue] {
        let bytes = ReactorList(reactors).page(isVisible).bytes
        #expect(bytes.count < ReactorList.limitBytes + 200 * reactors.count)
        #expect(bytes.last == UInt8(ascii: "\n"))
        guard case .array(let all)? = try JSON.decode(JSONValue.self, from: bytes)["reactors"]
        else { return [] }
        return all
    }

    private func exampleCount(_ reactor: JSONValue) -> Int? {
        guard case .array(let examples)? = reactor["examples"] else { return nil }
        return examples.count
    }

    @Test func `the examples of a reactor end before 64 KiB`() throws {
        let sizes = [30_000, 30_000, 5_000, 1_000, 10]
        let listed = try page([
            try speaker("a", sizes), try speaker("b", [70_000]), try speaker("c", [70]),
        ])
        #expect(listed.map { $0["name"] } == ["a", "b", "c"])
        #expect(listed.map(exampleCount) == [3, 0, 1])
        #expect(listed.allSatisfy { $0["schemas"]?["action"]?["oneOf"] != nil })
    }

    @Test func `all reactors are listed when their examples exceed a mebibyte`() throws {
        let listed = try page((0..<20).map { try speaker("r\($0)", [65_000]) })
        #expect(listed.count == 20)
        #expect(listed.map(exampleCount) == Array(repeating: 1, count: 16) + [0, 0, 0, 0])
        #expect(listed[15]["schemas"]?["action"]?["oneOf"] != nil)
    }

    @Test func `schemas beyond a mebibyte are anything`() throws {
        // Only schemas are left of the limit, 200 bytes and more for each.
        let listed = try page((0..<6_000).map { try speaker("r\($0)", []) })
        #expect(listed.count == 6_000)
        #expect(listed[0]["schemas"]?["action"]?["oneOf"] != nil)
        #expect(
            listed[5_999]["schemas"] == [
                "action": .object([]), "state": .object([]), "pulses": ["last": .object([])],
                "activities": .object([]),
            ])
    }

    // A copy of a state is of no use without it.
    @Test func `each reactor has the version of the form of its states`() throws {
        let next = try Registration(
            name: "next", activities: [], examples: [], clock: ContinuousClock(), make: { Next() })
        #expect(try page([try speaker("a", []), next]).map { $0["stateVersion"] } == [1, 7])
    }

    @Test func `only reactors that the client may see are listed`() throws {
        let reactors = [try speaker("a", []), try speaker("b", []), try speaker("c", [])]
        #expect(try page(reactors) { $0 != "b" }.map { $0["name"] } == ["a", "c"])
        #expect(try page(reactors) { _ in false } == [])
    }
}
