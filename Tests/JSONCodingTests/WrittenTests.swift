import Foundation
import JSONCoding
import Reactors
import Testing

@Suite("Contract §5 — every written value can be read", .timeLimit(.minutes(60)))
struct WrittenTests {
    /// One object within another; a tree in a reactor's state.
    private indirect enum Tree: Codable, Equatable {
        case leaf
        case node(Tree)

        private enum Key: CodingKey { case node }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            self = try container.decodeIfPresent(Tree.self, forKey: .node).map(Tree.node) ?? .leaf
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            if case .node(let tree) = self { try container.encode(tree, forKey: .node) }
        }

        static func deep(_ containers: Int) -> Tree {
            (1..<containers).reduce(Tree.leaf) { tree, _ in .node(tree) }
        }
    }

    private static func list(_ containers: Int) -> JSONValue {
        (1..<containers).reduce(JSONValue.array([])) { list, _ in .array([list]) }
    }

    // Case 145
    @Test func `128 containers are written and read, 129 are neither`() throws {
        let text = try encode(Tree.deep(128))
        #expect(try decode(Tree.self, text) == Tree.deep(128))
        #expect(try decodeStored(Tree.self, text) == Tree.deep(128))
        let place = String(repeating: "/node", count: 128)
        let fault = try failure(of: Tree.deep(129))
        #expect(fault.path == place)
        #expect(fault.reason.contains("128"))
        #expect(throws: JSONRefusal.self) { try decode(Tree.self, #"{"node":\#(text)}"#) }
        #expect(try failure(of: Tree.deep(400)).path == place)
    }

    @Test func `the limit counts arrays, and JSON as it stands, wherever they are`() throws {
        #expect(try decode(JSONValue.self, encode(Self.list(128))) == Self.list(128))
        #expect(try failure(of: Self.list(129)).reason.contains("128"))
        #expect(try decode([JSONValue].self, encode([Self.list(127)])) == [Self.list(127)])
        #expect(throws: JSONEncodingFailure.self) { try encode([Self.list(128)]) }
        struct Both: Codable {
            var trees: [String: [Tree]]
        }
        let text = try encode(Both(trees: ["a": [.deep(125)]]))
        #expect(try encode(decode(Both.self, text)) == text)
        let place = "/trees/a/0" + String(repeating: "/node", count: 125)
        #expect(try failure(of: Both(trees: ["a": [.deep(126)]])).path == place)
    }

    @Test func `nested containers count like nested values`() throws {
        struct Nested: Encodable {
            let depth: Int
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                for _ in 1..<depth { container = container.nestedUnkeyedContainer() }
            }
        }
        #expect(try decode(JSONValue.self, encode(Nested(depth: 128))) == Self.list(128))
        #expect(try failure(of: Nested(depth: 129)).path == String(repeating: "/0", count: 128))
    }

    @Test func `a container opened twice under one key is one container`() throws {
        struct Twice: Codable, Equatable {
            enum Key: CodingKey { case place, other, list, x, y }
            var (x, y) = (1, 2)
            init() {}
            init(from decoder: any Decoder) throws {
                let root = try decoder.container(keyedBy: Key.self)
                let place = try root.nestedContainer(keyedBy: Key.self, forKey: .place)
                x = try place.decode(Int.self, forKey: .x)
                y = try place.decode(Int.self, forKey: .y)
            }
            func encode(to encoder: any Encoder) throws {
                var root = encoder.container(keyedBy: Key.self)
                var place = root.nestedContainer(keyedBy: Key.self, forKey: .place)
                try place.encode(x, forKey: .x)
                try root.encode(true, forKey: .other)
                var list = root.nestedUnkeyedContainer(forKey: .list)
                try list.encode(1)
                var again = root.nestedContainer(keyedBy: Key.self, forKey: .place)
                try again.encode(y, forKey: .y)
                list = root.nestedUnkeyedContainer(forKey: .list)
                try list.encode(2)
            }
        }
        let text = try encode(Twice())
        #expect(text == #"{"place":{"x":1,"y":2},"other":true,"list":[1,2]}"#)
        #expect(try decode(Twice.self, text) == Twice())
    }

    // MARK: Doubled members

    // Case 154
    @Test func `a duplicate member is malformed at every level, in objects of any size`() throws {
        func offset(_ text: String) throws -> Int? {
            guard case .malformed(let offset, let reason) = try refusal(JSONValue.self, text) else {
                return nil
            }
            #expect(reason.contains("twice"))
            return offset
        }
        #expect(try offset(#"{"type":"a","type":"b"}"#) == 12)
        #expect(try offset(#"[1,{"x":[{"a":1,"b":2,"a":1}]}]"#) == 22)
        #expect(try offset(#"{"a":1,"\u0061":2}"#) == 7)
        #expect(try offset(#"{"\u0061":2,"a":{}}"#) == 12)
        let many = (0..<100).map { #""k\#($0)":0"# }.joined(separator: ",")
        #expect(try offset("{\(many),\"k7\":1}") == many.utf8.count + 2)
        #expect(try offset("{\(many),\"\\u006b7\":1}") == many.utf8.count + 2)
        _ = try decode(JSONValue.self, "{\(many)}")
        // Only canonically equivalent: two names.
        _ = try decode(JSONValue.self, "{\"\u{E9}\":1,\"e\u{301}\":2}")
    }

    @Test func `an object with many members is searched in linear time`() throws {
        let members = (0..<100_000).map { "\"\($0)\":0" }.joined(separator: ",")
        guard case .object(let all) = try decode(JSONValue.self, "{\(members)}") else {
            Issue.record("no object")
            return
        }
        #expect(all.count == 100_000)
    }

    // MARK: Dates

    // Case 156
    @Test(arguments: [
        (0.0, "2001-01-01T00:00:00.000Z"), (0.0004, "2001-01-01T00:00:00.000Z"),
        (0.0006, "2001-01-01T00:00:00.001Z"), (-0.001, "2000-12-31T23:59:59.999Z"),
        (-978_307_200, "1970-01-01T00:00:00.000Z"), (757_382_399.9996, "2025-01-01T00:00:00.000Z"),
        (-63_145_526_400, "0000-01-01T00:00:00.000Z"),
        (252_423_993_599.999, "9999-12-31T23:59:59.999Z"),
        (-31_622_400.25, "1999-12-31T23:59:59.750Z"),
        (96_768_000, "2004-01-26T00:00:00.000Z"), (99_705_600, "2004-02-29T00:00:00.000Z"),
    ])
    func `a date is written as RFC 3339 in UTC with milliseconds`(
        _ seconds: Double, _ text: String
    ) throws {
        #expect(try encode(Date(timeIntervalSinceReferenceDate: seconds)) == "\"\(text)\"")
        let read = try decode(Date.self, "\"\(text)\"").timeIntervalSinceReferenceDate
        #expect(abs(read - seconds) <= 0.0005)
    }

    @Test func `a date is read as RFC 3339 or as a number`() throws {
        func seconds(_ text: String) throws -> Double {
            try decode([String: Date].self, #"{"at":\#(text)}"#)["at"]
                .map(\.timeIntervalSinceReferenceDate) ?? .nan
        }
        #expect(try seconds("0.5") == 0.5)
        #expect(try seconds("-978307200") == -978_307_200)
        #expect(try seconds("\"2001-01-01T00:00:00Z\"") == 0)
        #expect(try seconds("\"2001-01-01t02:00:00.5+02:00\"") == 0.5)
        #expect(try seconds("\"2000-12-31T14:30:00.000001-09:30\"") == 0.000001)
        #expect(try seconds("\"2016-12-31T23:59:60z\"") == 504_921_600)
        #expect(try decode([Date?].self, "[null,1]").count == 2)
    }

    @Test(arguments: [
        "", "2001-01-01", "2001-01-01T00:00Z", "2001-01-01T00:00:00", "2001-01-01 00:00:00Z",
        "2001-1-01T00:00:00Z", "2001-13-01T00:00:00Z", "2001-00-01T00:00:00Z",
        "2001-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2001-04-31T00:00:00Z",
        "2001-01-00T00:00:00Z", "2001-01-01T24:00:00Z", "2001-01-01T00:60:00Z",
        "2001-01-01T00:00:61Z", "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00+0200",
        "2001-01-01T00:00:00+24:00", "2001-01-01T00:00:00Zx", "+2001-01-01T00:00:00Z",
        "2001-01-01T00:00:0\u{661}Z",
    ])
    func `a text that is not a date is refused`(_ text: String) throws {
        guard case .mismatch(_, let reason) = try refusal(Date.self, "\"\(text)\"") else {
            Issue.record("it is JSON")
            return
        }
        #expect(reason.contains("2026-11-22T07:30:00.000Z"))
    }

    @Test func `a date beyond the years of RFC 3339 is a number; an invalid one is refused`()
        throws
    {
        let late = Date(timeIntervalSinceReferenceDate: 252_423_993_600)
        #expect(try encode(late) == "252423993600")
        #expect(try decode(Date.self, encode(late)) == late)
        #expect(try encode(Date(timeIntervalSinceReferenceDate: -1e300)) == "-1e+300")
        #expect(throws: JSONEncodingFailure.self) {
            try encode([Date(timeIntervalSinceReferenceDate: .nan)])
        }
        #expect(try refusal(Date.self, "true") != refusal(Date.self, "{}"))
    }

    // MARK: Numbers

    @Test func `an integer is read exactly`() throws {
        for text in ["1e-999999999", "-1e-400", "0.1e-99999999999999999999", "1.5", "15e-1"] {
            #expect(
                try refusal(Int.self, text)
                    == .mismatch(path: "", reason: "expected a whole number, found a number"))
        }
        #expect(try decode([Int].self, "[0e-999999999,-0.0,0e99999999999999999999]") == [0, 0, 0])
        #expect(try decode(Int.self, "9007199254740993.0") == 9_007_199_254_740_993)
        #expect(try decode(Int.self, "1500e-2") == 15)
        #expect(try decode(Int.self, "-9223372036854775808.000") == .min)
        #expect(try decode(UInt64.self, "0.18446744073709551615e20") == .max)
        #expect(
            try decode(UInt128.self, "1e38") == 100_000_000_000_000_000_000_000_000_000_000_000_000)
        for text in ["1e999999999", "9223372036854775808.0", "1e19", "1e40"] {
            guard case .mismatch(_, let reason) = try refusal(Int.self, text) else { continue }
            #expect(reason.contains("out of the range"))
        }
    }

    // MARK: A new field

    private struct Place: Codable, Equatable {
        var x: Int
        var unit: String
    }

    private struct House: Codable, Equatable {
        var number: Int
        var humidity: Int
        var place: Place
        var places: [Place]
        var note: String?
        var byName: [String: Place]
    }

    private static let initial =
        #"{"number":1,"humidity":50,"place":{"x":0,"unit":"m"},"places":[{"x":0,"unit":"m"}],"#
        + #""note":"new","byName":{"a":{"x":9,"unit":"km"}}}"#

    // Case 148
    @Test func `missing members come from the other value, at every level of objects`() throws {
        let saved = #"{"number":7,"place":{"x":3},"places":[],"byName":{"a":{"x":1}}}"#
        let house = try decodeStored(House.self, saved, over: Self.initial)
        #expect(house.number == 7)
        #expect(house.humidity == 50)
        #expect(house.place == Place(x: 3, unit: "m"))
        #expect(house.note == nil, "nil is saved by leaving the member out")
        #expect(house.byName == ["a": Place(x: 1, unit: "km")])
        #expect(throws: JSONRefusal.self) { try decodeStored(House.self, saved) }
    }

    @Test func `arrays and values of another kind are not filled in`() throws {
        let inArray =
            #"{"number":7,"place":{"x":3},"places":[{"x":1}],"byName":{}}"#
        #expect(
            try refused(inArray)
                == .mismatch(path: "/places/0/unit", reason: "the field \"unit\" is missing"))
        let isText = #"{"number":"7","place":{"x":3},"places":[],"byName":{}}"#
        #expect(
            try refused(isText)
                == .mismatch(path: "/number", reason: "expected a number, found a string"))
        let unknown = #"{"number":7,"place":{"x":3},"places":[],"byName":{"b":{"x":1}}}"#
        #expect(
            try refused(unknown)
                == .mismatch(path: "/byName/b/unit", reason: "the field \"unit\" is missing"))
    }

    private func refused(_ saved: String) throws -> JSONRefusal {
        try #require(throws: JSONRefusal.self) {
            _ = try decodeStored(House.self, saved, over: Self.initial)
        }
    }

    // MARK: Types that always have JSON

    private enum Plain: TaggedCodable {
        case none
        case text(message: String?)
        case several(number: Int, flag: Bool, list: [String], url: URL, id: UUID)
    }

    private enum Rate: TaggedCodable {
        case none
        case rate(number: Int, value: Double)
    }

    private indirect enum Chain: TaggedCodable {
        case end
        case link(next: Chain?)
    }

    private struct Message: Codable {
        enum Kind: String, Codable { case a, b }
        var kind: Kind
        var texts: [String: [Int?]]
        var plain: Plain
    }

    /// Its decoding traps on values that nobody has written.
    private struct Even: Codable {
        var half: Int

        init(from decoder: any Decoder) throws {
            let number = try decoder.singleValueContainer().decode(Int.self)
            precondition(number > 0 && number.isMultiple(of: 2))
            half = number / 2
        }

        func encode(to encoder: any Encoder) throws { try (half * 2).encode(to: encoder) }
    }

    private enum Careful: TaggedCodable {
        case even(number: Even, or: Even?)
    }

    @Test func `a type is recognised without decoding a value of it`() {
        #expect(JSON.alwaysEncodes(Careful.self))
    }

    @Test func `a type that always has JSON is recognised by its fields`() {
        #expect(JSON.alwaysEncodes(Message.self))
        #expect(JSON.alwaysEncodes(Plain.self))
        #expect(JSON.alwaysEncodes([Set<UInt8>].self))
        #expect(!JSON.alwaysEncodes(Rate.self))
        #expect(!JSON.alwaysEncodes(Chain.self))
        #expect(!JSON.alwaysEncodes(Tree.self))
        #expect(!JSON.alwaysEncodes([String: Double?].self))
        #expect(!JSON.alwaysEncodes(Date.self))
        #expect(!JSON.alwaysEncodes((any Error).self))
    }
}
