/// A number with a fraction or an exponent: digits without outer zeros, and a power of ten.
///
/// Why not a `Double`: it reads `1e-999999999` as 0 and rounds `9007199254740993.0`.
struct JSONDecimal {
    private var digits: [UInt8] = []
    private var exponent = 0
    private var isNegative = false

    /// Larger exponents are replaced by this one: no integer type has as many digits.
    private static let exponentLimit = 1 << 40

    /// - Parameter text: a number by the grammar of RFC 8259 §6.
    init(_ text: ArraySlice<UInt8>) {
        var place = text.startIndex
        var isFraction = false
        while place < text.endIndex {
            switch text[place] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent += Self.exponent(text[(place + 1)...])
                place = text.endIndex - 1
            case let digit:
                if isFraction { exponent -= 1 }
                if digit != UInt8(ascii: "0") || !digits.isEmpty { digits.append(digit &- 0x30) }
            }
            place += 1
        }
        while digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
    }

    /// Whether both are the same number. All exponents above the limit count as equal.
    func isSame(as other: JSONDecimal) -> Bool {
        digits == other.digits
            && (digits.isEmpty || exponent == other.exponent && isNegative == other.isNegative)
    }

    var isWhole: Bool { digits.isEmpty || exponent >= 0 }

    /// Nil if it does not fit. Negative ones are built downwards: `-Int.min` does not exist.
    ///
    /// - Precondition: the number is whole.
    func integer<Value: FixedWidthInteger>() -> Value? {
        guard !digits.isEmpty else { return 0 }
        // 2^128 has 39 digits.
        guard exponent <= 39, digits.count <= 39 else { return nil }
        var value: Value = 0
        for place in 0..<(digits.count + exponent) {
            let digit = Value(truncatingIfNeeded: place < digits.count ? digits[place] : 0)
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, overflow2) =
                isNegative
                ? shifted.subtractingReportingOverflow(digit)
                : shifted.addingReportingOverflow(digit)
            if overflow || overflow2 { return nil }
            value = next
        }
        return value
    }

    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        var value = 0
        for byte in text {
            let digit = Int(byte) - 0x30
            if digit >= 0, digit < 10, value < exponentLimit { value = value * 10 + digit }
        }
        return text.first == UInt8(ascii: "-") ? -value : value
    }
}
