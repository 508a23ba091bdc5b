import TestRandomness
import Foundation
import JSONCoding
import Testing

/// A value of every kind, made from a seed.
private struct Sample: Codable, Equatable {
    enum Color: String, Codable, CaseIterable { case red, green, blue }
    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case line(Int, Int)
        case nothing
    }
    struct Inner: Codable, Equatable {
        var id: UUID
        var shape: Shape
        var next: [Inner]
    }

    var flag: Bool
    var int: Int, int8: Int8, int16: Int16, int32: Int32, int64: Int64
    var uint: UInt, uint8: UInt8, uint16: UInt16, uint32: UInt32, uint64: UInt64
    var double: Double
    var float: Float
    var text: String
    var maybe: String?
    var list: [Int?]
    var names: [String: Double]
    var numbers: [Int: String]
    var colors: [Color]
    var inner: Inner
    var date: Date
    var data: Data
    var url: URL
    var decimal: Decimal
    var range: Range<Int>
    var deep: [[[String]]]

    init(_ random: inout SeededGenerator) {
        flag = .random(using: &random)
        int = Self.integer(&random)
        int8 = Self.integer(&random)
        int16 = Self.integer(&random)
        int32 = Self.integer(&random)
        int64 = Self.integer(&random)
        uint = Self.integer(&random)
        uint8 = Self.integer(&random)
        uint16 = Self.integer(&random)
        uint32 = Self.integer(&random)
        uint64 = Self.integer(&random)
        double = Self.double(&random)
        float = Float(Int16(truncatingIfNeeded: random.next())) / 8
        text = Self.text(&random)
        maybe = Bool.random(using: &random) ? Self.text(&random) : nil
        list = (0..<Int.random(in: 0..<5, using: &random)).map {
            $0.isMultiple(of: 2) ? nil : Self.integer(&random)
        }
        names = [:]
        numbers = [:]
        for _ in 0..<Int.random(in: 0..<25, using: &random) {
            names[Self.text(&random)] = Self.double(&random)
            numbers[Self.integer(&random)] = Self.text(&random)
        }
        colors = Color.allCases.shuffled(using: &random)
        inner = Self.inner(&random, depth: 3)
        date = Date(
            timeIntervalSinceReferenceDate: Double(Int32(truncatingIfNeeded: random.next())) / 8)
        data = Data((0..<Int.random(in: 0..<40, using: &random)).map { _ in Self.integer(&random) })
        url =
            URL(string: "https://example.org/a/\(UInt8.random(in: 0...255, using: &random))?b=c#d")
            ?? URL(filePath: "/")
        decimal = Decimal(Int64(truncatingIfNeeded: random.next() >> 12)) / 1000
        let low = Int.random(in: -9...9, using: &random)
        range = low..<low + 5
        deep = [[], [[]], [["a", Self.text(&random)], []]]
    }

    private static func integer<Value: FixedWidthInteger>(_ random: inout SeededGenerator) -> Value
    {
        switch random.next() % 4 {
        case 0: .min
        case 1: .max
        default: Value(truncatingIfNeeded: random.next())
        }
    }

    private static func double(_ random: inout SeededGenerator) -> Double {
        switch random.next() % 5 {
        case 0: return Double(Int16(truncatingIfNeeded: random.next()))
        case 1: return Double(Int16(truncatingIfNeeded: random.next())) / 100
        case 2: return -0.0
        default:
            let value = Double(bitPattern: random.next())
            return value.isFinite ? value : 1e300
        }
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        let letters: [Unicode.Scalar] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\u{1}", "é", "€", "😀",
        ]
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<30, using: &random) {
            text.append(letters[Int(random.next() % UInt64(letters.count))])
        }
        return String(text)
    }

    private static func inner(_ random: inout SeededGenerator, depth: Int) -> Inner {
        let id = UUID(
            uuid: (
                integer(&random), integer(&random), integer(&random), integer(&random),
                integer(&random), integer(&random), integer(&random), integer(&random),
                integer(&random), integer(&random), integer(&random), integer(&random),
                integer(&random), integer(&random), integer(&random), integer(&random)
            ))
        let shapes: [Shape] = [.circle(radius: 0.1), .line(1, -2), .nothing]
        let next = depth == 0 ? [] : (0..<2).map { _ in inner(&random, depth: depth - 1) }
        return Inner(id: id, shape: shapes[Int(random.next() % 3)], next: next)
    }
}

@Suite("JSONEncoder and JSONDecoder agree with this coder", .timeLimit(.minutes(60)))
struct DifferentialTests {
    /// The same value regardless of the order of members, which JSONEncoder chooses.
    private func canonical(_ text: String) throws -> JSONValue {
        func sorted(_ value: JSONValue) -> JSONValue {
            switch value {
            case .array(let elements): .array(elements.map(sorted))
            case .object(let members):
                .object(
                    members.map { .init(key: $0.key, value: sorted($0.value)) }
                        .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
            default: value
            }
        }
        return sorted(try decode(JSONValue.self, text))
    }

    // Foundation's own form of RFC 3339, for comparison.
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(style.format(date))
        }
        return encoder
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            try style.parse(decoder.singleValueContainer().decode(String.self))
        }
        return decoder
    }

    @Test(arguments: 0..<200)
    func `a value of every kind is coded as Foundation does`(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let sample = Sample(&random)
        let ours = try encode(sample)
        let theirs = try String(decoding: Self.encoder.encode(sample), as: UTF8.self)
        #expect(!ours.utf8.contains { $0 < 0x20 })
        #expect(try canonical(ours) == canonical(theirs))
        #expect(try decode(Sample.self, ours) == sample)
        #expect(try decode(Sample.self, theirs) == sample)
        #expect(try Self.decoder.decode(Sample.self, from: Data(ours.utf8)) == sample)
        let prettyEncoder = Self.encoder
        prettyEncoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes]
        let pretty = try String(decoding: prettyEncoder.encode(sample), as: UTF8.self)
        #expect(try decode(Sample.self, pretty) == sample)
    }

    private func refusal(of bytes: [UInt8]) -> JSONRefusal? {
        do throws(JSONRefusal) {
            _ = try JSON.decode(JSONValue.self, from: bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func `both coders refuse or read the same changed samples`() throws {
        struct Small: Codable, Equatable {
            var a: Int?
            var b: [String: Double]
            var c: Bool
            var d: String
        }
        let text = Array(#"{"a":12,"b":{"x":1.5e1,"y":-0.25},"c":true,"d":"\u00e9\n/"}"#.utf8)
        var random = SeededGenerator(seed: 4)
        var agreed = 0
        for _ in 0..<20_000 {
            var changed = text
            let place = Int(random.next() % UInt64(text.count))
            switch random.next() % 3 {
            case 0: changed[place] = text[Int(random.next() % UInt64(text.count))]
            case 1: changed.remove(at: place)
            default: changed.insert(text[Int(random.next() % UInt64(text.count))], at: place)
            }
            let ours = try? JSON.decode(Small.self, from: changed)
            if zip(changed, changed.dropFirst()).contains(where: { $0 == (0x2C, 0x7D) }) {
                // Foundation (6.3.1) accepts a comma before "}", which RFC 8259 §4 does not.
                #expect(ours == nil)
                continue
            }
            if case .malformed(_, let reason)? = refusal(of: changed), reason.hasSuffix("twice") {
                // Foundation accepts one of them.
                continue
            }
            let theirs = try? JSONDecoder().decode(Small.self, from: Data(changed))
            if let ours, let theirs {
                #expect(ours == theirs, "\(String(decoding: changed, as: UTF8.self))")
                agreed += 1
            } else {
                #expect(ours == nil && theirs == nil, "\(String(decoding: changed, as: UTF8.self))")
            }
        }
        #expect(agreed > 100)
    }

    @Test func `roots may be scalars`() throws {
        for value in [1.5, 0, -7] {
            #expect(
                try encode(value) == String(decoding: JSONEncoder().encode(value), as: UTF8.self))
        }
        #expect(try encode(String?.none) == "null")
        #expect(try decode(String?.self, "null") == nil)
        #expect(try decode(Int??.self, "null") == Int??.none)
        #expect(try encode(Data([1, 2, 3])) == #""AQID""#)
        #expect(try decode(Data.self, #""AQID""#) == Data([1, 2, 3]))
        #expect(try encode(Decimal(string: "1.10")) == "1.1")
        #expect(try decode(Decimal.self, "0.1") == Decimal(string: "0.1"))
        #expect(throws: JSONRefusal.self) { try decode(Data.self, #""***""#) }
        #expect(throws: JSONRefusal.self) { try decode(URL.self, #""""#) }
        #expect(throws: JSONRefusal.self) { try decode(Decimal.self, #""1""#) }
        #expect(try failure(of: Decimal.nan).reason.contains("NaN"))
    }
}
