// Numbers are read from their text: an integer is exact at every width, a floating-point number
// is the nearest one of its own width.

extension JSONDocument {
    /// The number as an integer, exactly. `1.0` and `1e2` are integers too; `1.5` is not.
    func integer<Value: FixedWidthInteger>(_ type: Value.Type, at index: Int) throws -> Value {
        let node = nodes[index]
        guard node.kind == .number else { throw mismatch(type, "a number", at: index) }
        if !node.isComplex, let value: Value = plainInteger(node) { return value }
        if node.isComplex {
            let number = JSONDecimal(bytes[Int(node.start)..<Int(node.end)])
            guard number.isWhole else { throw mismatch(type, "a whole number", at: index) }
            if let value: Value = number.integer() { return value }
        }
        throw corrupted("the number is out of the range of \(type)", at: index)
    }

    /// Nil if it does not fit. Negative ones are built downwards: `-Int.min` does not exist.
    private func plainInteger<Value: FixedWidthInteger>(_ node: JSONNode) -> Value? {
        var place = Int(node.start)
        let end = Int(node.end)
        let isNegative = bytes[place] == UInt8(ascii: "-")
        if isNegative { place += 1 }
        var value: Value = 0
        while place < end {
            let digit = Value(truncatingIfNeeded: bytes[place] &- 0x30)
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, overflow2) =
                isNegative
                ? shifted.subtractingReportingOverflow(digit)
                : shifted.addingReportingOverflow(digit)
            if overflow || overflow2 { return nil }
            value = next
            place += 1
        }
        return value
    }

    /// The nearest `Double`. A number that is too large is refused; one that is too small is zero.
    func double(at index: Int) throws -> Double {
        try floating(Double.self, at: index) { self.exactDouble($0) }
    }

    /// The nearest `Float`, rounded once.
    func float(at index: Int) throws -> Float {
        try floating(Float.self, at: index) { node in
            // A whole number below 2^24 is exact in both.
            guard !node.isComplex, let value = self.exactDouble(node), abs(value) < 0x1p24
            else { return nil }
            return Float(value)
        }
    }

    private func floating<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: Value.Type, at index: Int, exact: (JSONNode) -> Value?
    ) throws -> Value {
        let node = nodes[index]
        guard node.kind == .number else { throw mismatch(type, "a number", at: index) }
        if let value = exact(node) { return value }
        guard let value = Value(text(at: index)), value.isFinite else {
            throw corrupted("the number is out of the range of \(type)", at: index)
        }
        return value
    }

    /// Nil if the general algorithm is needed. With at most 15 digits and a power of ten up to
    /// 22 both operands are exact, and IEEE 754 rounds their quotient correctly (Clinger 1990).
    private func exactDouble(_ node: JSONNode) -> Double? {
        guard node.end - node.start <= 17 else { return nil }
        var mantissa: Int64 = 0
        var digits = 0
        var fraction: Int?
        for place in Int(node.start)..<Int(node.end) {
            switch bytes[place] {
            case UInt8(ascii: "-"): continue
            case UInt8(ascii: "."): fraction = digits
            case UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
            case let byte:
                mantissa = mantissa &* 10 &+ Int64(byte &- 0x30)
                digits += 1
            }
        }
        guard digits <= 15 else { return nil }
        var value = Double(mantissa)
        if let fraction { value /= Self.power(of10: digits - fraction) }
        return bytes[Int(node.start)] == UInt8(ascii: "-") ? -value : value
    }

    /// Exact up to 10^22: without factors of two, each product has at most 53 bits.
    private static func power(of10 exponent: Int) -> Double {
        var power = 1.0
        for _ in 0..<exponent { power *= 10 }
        return power
    }
}
