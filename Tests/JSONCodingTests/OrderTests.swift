import TestRandomness
import JSONCoding
import Testing

@Suite("Equal values have equal bytes", .timeLimit(.minutes(60)))
struct OrderTests {
    /// The same elements, inserted so that the hash tables differ.
    private func variants(_ count: Int) -> [[Int]] {
        var random = SeededGenerator(seed: 5)
        return (0..<20).map { _ in (0..<count).shuffled(using: &random) }
    }

    @Test func `a dictionary is sorted by key`() throws {
        var texts: Set<String> = []
        for order in variants(30) {
            var dictionary: [String: [Int]] = [:]
            dictionary.reserveCapacity(30 + order[0] * 40)
            for key in order { dictionary["k\(key)"] = [key, key] }
            texts.insert(try encode(dictionary))
        }
        #expect(texts.count == 1)
        #expect(try encode(["b": 1, "a": 2, "ab": 3, "": 4]) == #"{"":4,"a":2,"ab":3,"b":1}"#)
        #expect(try encode([10: "x", 9: "y"]) == #"{"10":"x","9":"y"}"#)
    }

    @Test func `a dictionary whose keys are not text is sorted by pairs`() throws {
        var texts: Set<String> = []
        for order in variants(20) {
            var dictionary: [[Int]: String] = [:]
            dictionary.reserveCapacity(30 + order[0] * 40)
            for key in order { dictionary[[key]] = "v\(key)" }
            texts.insert(try encode(dictionary))
        }
        #expect(texts.count == 1)
        let text = try encode([[2]: "b", [1]: "a", [3]: "c"])
        #expect(text == #"[[1],"a",[2],"b",[3],"c"]"#)
        #expect(try decode([[Int]: String].self, text) == [[2]: "b", [1]: "a", [3]: "c"])
    }

    @Test func `a set is sorted, an array never`() throws {
        var texts: Set<String> = []
        for order in variants(20) {
            var set: Set<String> = []
            set.reserveCapacity(30 + order[0] * 40)
            for element in order { set.insert("e\(element)") }
            texts.insert(try encode(["set": set]))
        }
        #expect(texts.count == 1)
        #expect(try encode(Set([3, 1, 2])) == "[1,2,3]")
        #expect(try encode([3, 1, 2]) == "[3,1,2]")
        #expect(try encode(Set<Int>()) == "[]")
        #expect(try encode(Set([["b": 1, "a": 2]])) == #"[{"a":2,"b":1}]"#)
    }

    // Copying everything before it for each of them would take two terabytes.
    @Test(.timeLimit(.minutes(60)))
    func `a dictionary within a large value costs no more than one alone`() throws {
        struct Large: Encodable {
            var text = String(repeating: "x", count: 32 << 20)
            var small = (0..<80_000).map { ["b": $0, "a": 1] }
        }
        let text = try encode(Large())
        #expect(text.hasSuffix(#"{"a":1,"b":79998},{"a":1,"b":79999}]}"#))
    }

    @Test func `fields keep the order of their declaration`() throws {
        struct Fields: Codable { var z = 1, a = 2, m = [3], b = "x" }
        #expect(try encode(Fields()) == #"{"z":1,"a":2,"m":[3],"b":"x"}"#)
    }
}
