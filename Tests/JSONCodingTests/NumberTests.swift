import TestRandomness
import JSONCoding
import Testing

@Suite("RFC 8259 §6 — numbers are exact or refused", .timeLimit(.minutes(60)))
struct NumberTests {
    private func bounds<Value: FixedWidthInteger & Codable>(_ type: Value.Type) throws {
        for value in [Value.min, .min + 1, 0, 1, 9, 10, 99, 100, .max - 1, .max] {
            #expect(try encode(value) == value.description)
            #expect(try decode(type, value.description) == value)
            #expect(try decode([Value].self, "[\(value)]") == [value])
        }
        let beyond = [Value.max.description + "0", "-" + Value.max.description + "9"]
        for text in beyond {
            #expect(throws: JSONRefusal.self) { try decode(type, text) }
        }
    }

    @Test func `every integer width is accepted to its bounds and not beyond`() throws {
        try bounds(Int.self)
        try bounds(Int8.self)
        try bounds(Int16.self)
        try bounds(Int32.self)
        try bounds(Int64.self)
        try bounds(Int128.self)
        try bounds(UInt.self)
        try bounds(UInt8.self)
        try bounds(UInt16.self)
        try bounds(UInt32.self)
        try bounds(UInt64.self)
        try bounds(UInt128.self)
        for text in ["128", "-129", "256", "300", "1000"] {
            #expect(throws: JSONRefusal.self) { try decode(Int8.self, text) }
        }
        #expect(throws: JSONRefusal.self) { try decode(UInt8.self, "-1") }
        #expect(throws: JSONRefusal.self) { try decode(UInt8.self, "256") }
        #expect(throws: JSONRefusal.self) { try decode(Int64.self, "9223372036854775808") }
        #expect(throws: JSONRefusal.self) { try decode(Int64.self, "-9223372036854775809") }
        #expect(throws: JSONRefusal.self) { try decode(UInt64.self, "18446744073709551616") }
    }

    @Test func `minus zero is zero as an integer and keeps its sign as a double`() throws {
        #expect(try decode(Int.self, "-0") == 0)
        #expect(try decode(UInt.self, "-0") == 0)
        #expect(try decode(Double.self, "-0").sign == .minus)
        #expect(try decode(Double.self, "-0.0").sign == .minus)
        #expect(try encode(-0.0) == "-0")
    }

    @Test func `a whole number is an integer however written`() throws {
        #expect(try decode(Int.self, "1.0") == 1)
        #expect(try decode(Int.self, "1e2") == 100)
        #expect(try decode(Int.self, "12.5e1") == 125)
        let refusal = try refusal(Int.self, "1.5")
        #expect(refusal == .mismatch(path: "", reason: "expected a whole number, found a number"))
        #expect(throws: JSONRefusal.self) { try decode(Int.self, "1e30") }
        #expect(throws: JSONRefusal.self) { try decode(Int.self, "1e400") }
        #expect(throws: JSONRefusal.self) { try decode(Int.self, "1e-5") }
    }

    @Test(arguments: [
        "0", "1", "0.1", "0.2", "0.3", "1.7976931348623157e308", "5e-324",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308", "9007199254740993", "9007199254740992", "123456789.123456",
        "0.000001", "1e22", "1e23", "1e-22", "8.41e21", "999999999999999", "99999999999999.9",
        "0.30000000000000004", "1e-400", "3.14159265358979323846264338327950288419716939937510",
        "-1.5", "-123.456", "0.1e1", "123456789012345678901234567890", "4.35", "0.5e-5", "100.0",
    ])
    func `a double is the nearest to its text`(_ text: String) throws {
        let value = try #require(Double(text))
        #expect(try decode(Double.self, text) == value)
        #expect(
            try decode(Float.self, text.contains("308") ? "1" : text)
                == Float(text.contains("308") ? "1" : text))
    }

    @Test func `a number beyond double's range is refused, not made infinite`() throws {
        for text in ["1e400", "-1e400", "1e309", String(repeating: "9", count: 400)] {
            let refusal = try refusal(Double.self, text)
            #expect(
                refusal == .mismatch(path: "", reason: "the number is out of the range of Double"))
        }
        #expect(throws: JSONRefusal.self) { try decode(Float.self, "1e39") }
        #expect(try decode(Float.self, "16777217") == 16_777_216)
    }

    @Test func `numbers that are not finite have no JSON`() throws {
        for value in [Double.infinity, -.infinity, .nan] {
            #expect(try failure(of: value).path == "")
            #expect(try failure(of: ["a": [1, value]]).path == "/a/1")
        }
        #expect(try failure(of: Float.nan).reason.contains("nan"))
    }

    @Test func `any double and float is read back with the same bits`() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<20_000 {
            let double = Double(bitPattern: random.next())
            if double.isFinite {
                let text = try encode(double)
                #expect(try decode(Double.self, text).bitPattern == double.bitPattern)
            }
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
            if float.isFinite {
                let text = try encode(float)
                #expect(try decode(Float.self, text).bitPattern == float.bitPattern)
            }
        }
    }

    @Test func `any short decimal is read like Swift's own parser does`() throws {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<20_000 {
            let digits = Int64(truncatingIfNeeded: random.next() % 1_000_000_000_000_000)
            var text = String(digits >> Int64(random.next() % 50))
            let place = Int(random.next() % UInt64(text.count))
            text.insert(".", at: text.index(text.startIndex, offsetBy: place))
            if place == 0 { text = "0" + text }
            if text.first == "0", text.count > 2, text.dropFirst().first != "." { continue }
            #expect(try decode(Double.self, text) == Double(text))
            #expect(try decode(Float.self, text) == Float(text))
        }
    }
}
