import Foundation
import JSONCoding
import Reactors
import Testing

@Suite("Schemas — what a type's JSON looks like, without a value of it", .timeLimit(.minutes(60)))
struct SchemaTests {
    static let int =
        #"{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}"#
    static let byte = #"{"type":"integer","minimum":0,"maximum":255}"#
    static let text = #"{"type":"string"}"#

    private struct Scalars: Codable {
        var flag: Bool
        var text: String
        var number: Int
        var byte: UInt8
        var half: Float
        var double: Double
        var at: Date
        var id: UUID
        var bytes: Data
        var link: URL
        var price: Decimal
    }

    @Test func `the types of the standard library and of Foundation have the coder's form`() {
        #expect(
            schema(Scalars.self)
                == object([
                    ("flag", #"{"type":"boolean"}"#), ("text", Self.text), ("number", Self.int),
                    ("byte", Self.byte),
                    ("half", #"{"type":"number","minimum":-3.4028235e38,"maximum":3.4028235e38}"#),
                    ("double", #"{"type":"number"}"#),
                    ("at", #"{"type":["string","number"],"format":"date-time"}"#),
                    (
                        "id",
                        #"{"type":"string","format":"uuid","pattern":"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"}"#
                    ),
                    (
                        "bytes",
                        #"{"type":"string","contentEncoding":"base64","pattern":"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}"#
                    ),
                    ("link", #"{"type":"string","format":"uri-reference","minLength":1}"#),
                    ("price", #"{"type":"number"}"#),
                ]))
    }

    private struct Part: Codable, Hashable { var number: Int }

    private struct Collections: Codable {
        var list: [Part]
        var lists: [[Int?]]
        var bag: Set<String>
        var byName: [String: Part]
        var byNumber: [Int: Bool]
        var byPart: [Part: String]
        var maybe: Part?
        var maybeList: [String]?
        @Pulse var pulse: Part
        @Pulse var maybePulse: String?
    }

    @Test func `collections, optionals and pulses have the form of what they contain`() {
        let part = object([("number", Self.int)])
        #expect(
            schema(Collections.self)
                == object(
                    [
                        ("list", #"{"type":"array","items":\#(part)}"#),
                        (
                            "lists",
                            #"{"type":"array","items":{"type":"array","items":{"type":["integer","null"],"minimum":-9223372036854775808,"maximum":9223372036854775807}}}"#
                        ),
                        ("bag", #"{"type":"array","items":\#(Self.text)}"#),
                        ("byName", #"{"type":"object","additionalProperties":\#(part)}"#),
                        (
                            "byNumber",
                            #"{"type":"object","propertyNames":{"pattern":"^(0|-?[1-9][0-9]{0,18})$"},"additionalProperties":{"type":"boolean"}}"#
                        ),
                        ("byPart", #"{"type":"array","items":{"anyOf":[\#(part),\#(Self.text)]}}"#),
                        ("maybe", part.replacing(#""object""#, with: #"["object","null"]"#)),
                        ("maybeList", #"{"type":["array","null"],"items":\#(Self.text)}"#),
                        ("pulse", part), ("maybePulse", #"{"type":["string","null"]}"#),
                    ], required: ["list", "lists", "bag", "byName", "byNumber", "byPart", "pulse"]))
    }

    private enum Speed: String, Codable { case slow, fast = "FAST" }
    private enum Level: Int, Codable, CaseIterable { case low = 1, high = 10 }
    private enum Only: String, Codable { case one }
    private enum Marked: String, TaggedCodable { case a, b }

    @Test func `an enum with raw values is one of them, CaseIterable or not`() {
        #expect(schema(Speed.self) == #"{"enum":["slow","FAST"]}"#)
        #expect(schema(Level.self) == #"{"enum":[1,10]}"#)
        #expect(schema(Only.self) == #"{"enum":["one"]}"#)
        #expect(schema(Marked.self) == #"{"enum":["a","b"]}"#)
        #expect(schema(Speed?.self) == #"{"enum":["slow","FAST",null]}"#)
    }

    private enum Tagged: TaggedCodable {
        case say(author: String, text: String?)
        case shout(String, Int)
        case rename(String)
        case part(Part)
        case stop

        enum CodingKeys: String, CodingKey { case say, shout, rename = "re_name", part, stop }
        enum RenameCodingKeys: String, CodingKey { case _0 = "name" }
    }

    @Test func `a tagged enum is one of its cases, with their fields beside the type`() {
        func tagged(
            _ name: String, _ fields: [(String, String)], optional: Set<String> = []
        ) -> String {
            object(
                [("type", #"{"const":"\#(name)"}"#)] + fields,
                required: ["type"] + fields.map(\.0).filter { !optional.contains($0) })
        }
        let cases = [
            tagged(
                "say", [("author", Self.text), ("text", #"{"type":["string","null"]}"#)],
                optional: ["text"]),
            tagged("shout", [("_0", Self.text), ("_1", Self.int)]),
            tagged("re_name", [("name", Self.text)]),
            tagged("part", [("_0", object([("number", Self.int)]))]), tagged("stop", []),
        ]
        #expect(schema(Tagged.self) == #"{"oneOf":[\#(cases.joined(separator: ","))]}"#)
        #expect(schema(Tagged.self, .accepted) == schema(Tagged.self))
    }

    private enum Plain: Codable {
        case say(text: String)
        case stop
    }

    @Test func `an enum in Swift's form is an object with one member, the case`() {
        let say = #"{"type":"object","properties":{"say":\#(object([("text", Self.text)]))},"#
        let stop = #"{"type":"object","properties":{"stop":{"type":"object"}},"#
        #expect(
            schema(Plain.self)
                == #"{"oneOf":[\#(say)"required":["say"],"additionalProperties":false},"#
                + #"\#(stop)"required":["stop"],"additionalProperties":false}]}"#)
    }

    private struct Renamed: Codable {
        var first: Int
        var local = 0
        enum CodingKeys: String, CodingKey { case first = "the_first" }
    }

    private struct Nothing: Codable {}

    private struct Temperature: Codable {
        let degrees: Double
        init(from decoder: any Decoder) throws {
            degrees = try decoder.singleValueContainer().decode(Double.self)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(degrees)
        }
    }

    private struct Name: RawRepresentable, Codable {
        let rawValue: String
    }

    @Test func `keys are the coding keys, and a wrapper of one value is that value`() {
        #expect(schema(Renamed.self) == object([("the_first", Self.int)]))
        #expect(schema(Nothing.self) == #"{"type":"object"}"#)
        #expect(schema(Temperature.self) == #"{"type":"number"}"#)
        #expect(schema(Name.self) == Self.text)
    }

    private struct Pair<First: Codable, Second: Codable>: Codable {
        var first: First
        var second: Second
    }

    private enum Either<Left: Codable, Right: Codable>: TaggedCodable {
        case left(Left)
        case right(Right)
    }

    @Test func `generic types have the schemas of their arguments`() {
        #expect(
            schema(Pair<Int, [String]>.self)
                == object([
                    ("first", Self.int), ("second", #"{"type":"array","items":\#(Self.text)}"#),
                ]))
        #expect(
            schema(Either<UInt8, String>.self) == #"{"oneOf":["#
                + object([("type", #"{"const":"left"}"#), ("_0", Self.byte)]) + ","
                + object([("type", #"{"const":"right"}"#), ("_0", Self.text)]) + "]}")
    }

    // MARK: Recursion

    private struct Tree: Codable {
        var name: String
        var trees: [Tree] = []
    }

    private indirect enum Expression: TaggedCodable {
        case number(Int)
        case sum(Expression, Expression)
    }

    @Test func `a type that contains itself refers to itself`() throws {
        let tree = try value(schema(Tree.self))
        #expect(tree["$ref"] == "#/$defs/Tree")
        #expect(
            tree["$defs"]?["Tree"]?["properties"]?["trees"]?["items"]?["$ref"] == "#/$defs/Tree")
        let whole = try #require(JSONSchema(value: tree))
        let good = Tree(name: "a", trees: [Tree(name: "b")])
        #expect(whole.fits(try value(encoded(good))))
        #expect(!whole.fits(try value(#"{"name":"a","trees":[{"name":"b","trees":[1]}]}"#)))
        let sum = try #require(JSONSchema(value: try value(schema(Expression.self))))
        let three = Expression.sum(.number(1), .sum(.number(2), .number(3)))
        #expect(sum.fits(try value(encoded(three))))
        #expect(!sum.fits(try value(#"{"type":"sum","_0":{"type":"number","_0":1},"_1":2}"#)))
    }

    private struct Box<Value: Codable>: Codable { var next: Value }
    private typealias Fourfold<Value: Codable> = Wide<Wide<Wide<Wide<Value>>>>
    private typealias Boxes<Value: Codable> = Box<Box<Box<Box<Box<Box<Value>>>>>>

    private struct Wide<Value: Codable>: Codable {
        var a: Value
        var b: Value
        var c: Value
        var d: Value
    }

    @Test func `types that nest too deep and types without measure are cut off`() throws {
        var depth = 0
        var part = try value(schema(Boxes<Boxes<Boxes<Int>>>.self))
        while let next = part["properties"]?["next"] { (part, depth) = (next, depth + 1) }
        #expect(depth == 16)
        #expect(part == .object([]))
        // 4 to the power of 8 fields.
        let wide = schema(Fourfold<Fourfold<[Int]>>.self)
        #expect(wide.utf8.count < 200_000)
        #expect(wide.contains(#"{"type":"integer""#))
    }

    // MARK: Coding of the author's own

    /// Reads another type than it stores.
    private struct Converted: Codable {
        var seconds: Double
        enum CodingKeys: CodingKey { case seconds }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            seconds = Double(try container.decode(String.self, forKey: .seconds)) ?? 0
        }
        init() { seconds = 0 }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(String(seconds), forKey: .seconds)
        }
    }

    /// Takes text or a number.
    private enum Loose: Codable {
        case text(String)
        case number(Int)
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .number(try container.decode(Int.self))
            }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            }
        }
    }

    /// Conceals that it could not read.
    private struct Tolerant: Codable {
        var number: Int
        enum CodingKeys: CodingKey { case number }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            number = (try? container.decode(Int.self, forKey: .number)) ?? 0
        }
    }

    private struct Dynamic: Codable {
        var names: [String] = []
        enum CodingKeys: CodingKey { case names }
        init() {}
        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: CodingKeys.self).allKeys.map(\.stringValue)
        }
    }

    @Test func `a coding that cannot be concluded is anything`() {
        #expect(schema(Converted.self) == "{}")
        #expect(schema(Loose.self) == "{}")
        #expect(schema(Tolerant.self) == "{}")
        #expect(schema(Dynamic.self) == "{}")
        #expect(schema(Never.self) == "{}")
    }

    @Test func `a value shows a coding of the author's own`() {
        #expect(
            schema(Converted.self, from: [Converted()]) == object([("seconds", Self.text)]))
        #expect(schema(Dynamic.self, from: [Dynamic()]) == "{}")
        #expect(schema(Loose.self, from: [Loose.text("a"), .number(1)]) == "{}")
        #expect(schema([Converted].self, from: [[], [Converted()]]).contains(#""seconds""#))
    }

    /// Writes less than it reads, and another value than it reads.
    private struct Uneven: Codable {
        var count = 0
        var name: String? = "a"
        var isNew = false
        enum CodingKeys: CodingKey { case count, name, isNew }
        init() {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            count = try container.decodeIfPresent(Int.self, forKey: .count) ?? 0
            name = try container.decode(String.self, forKey: .name)
            isNew = container.contains(.isNew)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
        }
    }

    private struct Message: Codable {
        var number: Int
        var texts: [String]
        var name: String
    }

    @Test func `what values show is wider than what types say`() throws {
        let uneven = try value(schema(Uneven.self, from: [Uneven()]))
        #expect(uneven["required"] == ["name"])
        #expect(uneven["properties"]?["count"]?["type"] == ["integer", "null"])
    }

    @Test func `a sample makes the parts anything that it contradicts, and no others`() throws {
        func widened(_ samples: String...) -> String {
            let builder = SchemaBuilder(SchemaRecorder(), for: .written)
            let schema = builder.schema(of: Message.self, samples: samples.map { Array($0.utf8) })
            return encoded(schema.value)
        }
        let texts = #"{"type":"array","items":{"type":"string"}}"#
        #expect(
            widened(#"{"number":1,"texts":["a"],"name":"b","more":0}"#) == schema(Message.self))
        #expect(
            widened(#"{"number":1.5,"texts":["a"]}"#)
                == object(
                    [("number", "{}"), ("texts", texts), ("name", Self.text)],
                    required: ["number", "texts"]))
        #expect(
            widened(#"{"number":1,"texts":["a",2],"name":"b"}"#)
                == object([
                    ("number", Self.int), ("texts", #"{"type":"array","items":{}}"#),
                    ("name", Self.text),
                ]))
        #expect(widened("7") == "{}")
    }

    // MARK: Rig

    private func object(_ fields: [(String, String)], required: [String]? = nil) -> String {
        let members = fields.map { #""\#($0.0)":\#($0.1)"# }.joined(separator: ",")
        let names = (required ?? fields.map(\.0)).map { #""\#($0)""# }.joined(separator: ",")
        let all = members.isEmpty ? "" : #","properties":{\#(members)}"#
        return #"{"type":"object"\#(all)\#(names.isEmpty ? "" : #","required":[\#(names)]"#)}"#
    }

    private func schema<Value: Codable>(
        _ type: Value.Type, _ use: SchemaBuilder.Use = .written, from values: [Value] = []
    ) -> String {
        let recorder = SchemaRecorder()
        let samples = values.map { Array(encoded($0).utf8) }
        for sample in samples { recorder.record(type, in: sample) }
        return encoded(SchemaBuilder(recorder, for: use).schema(of: type, samples: samples).value)
    }

    private func encoded(_ value: some Encodable) -> String {
        var bytes: [UInt8] = []
        do {
            try JSON.encode(value, into: &bytes)
        } catch {
            Issue.record("\(error)")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func value(_ text: String) throws -> JSONValue {
        try JSON.decode(JSONValue.self, from: Array(text.utf8))
    }
}
