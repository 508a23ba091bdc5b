import JSONCoding
import Reactors
import Testing

@Suite("Schemas — no type can stop or delay the start", .timeLimit(.minutes(60)))
struct SchemaSafetyTests {
    // MARK: Types that trap on values that nobody wrote

    /// Each field traps on the value that a test would make up first.
    private struct Fragile: Codable {
        var share: Int
        var first: String
        var range: ClosedRange<Int>
        var index: Int

        enum CodingKeys: CodingKey { case share, first, range, index }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            share = 100 / (try container.decode(Int.self, forKey: .share))
            first = try container.decode(String.self, forKey: .first)
            precondition(!first.isEmpty)
            range = 0...share
            index = [share][try container.decode(Int.self, forKey: .index)]
        }
    }

    private struct Whole: RawRepresentable, Codable {
        let rawValue: Int
        init(rawValue: Int) {
            precondition(rawValue > 0)
            self.rawValue = rawValue
        }
    }

    private enum Phase: Codable {
        case idle
        case running(Whole, of: Fragile)
        case named(String)

        enum CodingKeys: CodingKey { case idle, running, named }
        enum NamedCodingKeys: CodingKey { case _0 }
        enum RunningCodingKeys: CodingKey { case _0, of }

        /// As Swift synthesises it, and then a check that only written values pass.
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard let key = container.allKeys.first else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "none"))
            }
            switch key {
            case .idle: self = .idle
            case .named:
                let fields = try container.nestedContainer(
                    keyedBy: NamedCodingKeys.self, forKey: .named)
                let name = try fields.decode(String.self, forKey: ._0)
                self = .named(String(name[name.startIndex]))
            case .running:
                let fields = try container.nestedContainer(
                    keyedBy: RunningCodingKeys.self, forKey: .running)
                self = .running(
                    try fields.decode(Whole.self, forKey: ._0),
                    of: try fields.decode(Fragile.self, forKey: .of))
            }
        }
    }

    private struct State: Codable {
        var all: [Fragile] = []
        var last: Fragile?
        var byName: [String: Fragile] = [:]
        var whole: Whole?
        var phase = Phase?.none
    }

    @Test func `a type that traps on odd values gets no value that nobody wrote`() throws {
        let schema = try schema(of: State.self, from: [State()])
        let properties = try #require(schema["properties"])
        #expect(properties["all"]?["type"] == "array")
        #expect(properties["whole"]?["type"] == ["integer", "null"])
        #expect(properties["last"]?["properties"]?["first"]?["type"] == "string")
        // Swift's own code would open the container of `idle` too.
        #expect(properties["phase"] == .object([]))
        let named = SchemaBuilder(SchemaRecorder(), for: .written)
            .schema(ofCase: "named", of: Phase.self)
        #expect(named?.value["properties"]?["named"]?["properties"]?["_0"]?["type"] == "string")
    }

    // MARK: Types that decode without an end

    /// Skips elements that it cannot read, without a look at whether it advances.
    private struct Lossy: Codable {
        var numbers: [Int] = []
        init(_ numbers: [Int]) { self.numbers = numbers }
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            while !container.isAtEnd {
                if let number = try? container.decode(Int.self) { numbers.append(number) }
            }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for number in numbers { try container.encode(number) }
        }
    }

    /// Tries again until it has a container.
    private struct Patient: Codable {
        var numbers: [Int] = []
        init(from decoder: any Decoder) throws {
            for _ in 0..<3 {
                if var container = try? decoder.unkeyedContainer() {
                    while !container.isAtEnd { numbers.append(try container.decode(Int.self)) }
                    return
                }
            }
        }
    }

    @Test func `a type that reads until the end ends when no more requests are recorded`() throws {
        #expect(try schema(of: Lossy.self)["type"] == "array")
        #expect(try schema(of: Patient.self) == .object([]))
        let many = try schema(of: Lossy.self, from: [Lossy(Array(0..<50_000))])
        #expect(many["type"] == "array")
    }

    private struct Many: Codable {
        var numbers = Array(0..<50_000)
        var names = Dictionary(uniqueKeysWithValues: (0..<5_000).map { ("\($0)", [$0]) })
    }

    @Test func `a large value is described by its type where its record ends`() throws {
        let schema = try schema(of: Many.self, from: [Many()])
        #expect(schema["properties"]?["numbers"]?["items"]?["type"] == "integer")
        #expect(schema["properties"]?["names"]?["additionalProperties"]?["type"] == "array")
    }

    // MARK: Metadata

    private enum Gone: String, Codable {
        case here
        case there
        @available(*, unavailable) case gone
    }

    private enum Large: UInt16, Codable { case one = 1, most = 65_535 }

    @Test func `only cases that a value can have are listed`() throws {
        #expect(try schema(of: Gone.self) == ["enum": ["here", "there"]])
        #expect(try schema(of: Large.self) == ["enum": [1, 65_535]])
    }

    private final class Class: Codable { var number = 1 }
    private final class Derived: Codable {
        let base: Class
        init(from decoder: any Decoder) throws {
            base = try Class(from: decoder.container(keyedBy: Key.self).superDecoder())
        }
        enum Key: CodingKey { case none }
    }

    private struct Holder: Codable {
        var value: Class
        var derived: [Derived]
        var any: JSONValue
    }

    @Test func `classes without a value are anything`() throws {
        let holder = try schema(of: Holder.self)
        #expect(holder["properties"]?["value"] == .object([]))
        #expect(holder["properties"]?["derived"] == ["type": "array"])
        #expect(holder["properties"]?["any"] == .object([]))
        #expect(try schema(of: Class.self, from: [Class()])["required"] == ["number"])
    }

    private func schema<Value: Codable>(
        of type: Value.Type, from values: [Value] = []
    ) throws -> JSONValue {
        let recorder = SchemaRecorder()
        let samples = try values.map { value in
            var bytes: [UInt8] = []
            try JSON.encode(value, into: &bytes)
            return bytes
        }
        for sample in samples { recorder.record(type, in: sample) }
        return SchemaBuilder(recorder, for: .written).schema(of: type, samples: samples).value
    }
}
