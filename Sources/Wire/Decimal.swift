/// Appends numbers as decimal digits directly to bytes.
package enum Decimal {
    /// Appends the number's digits, without sign or leading zeros.
    package static func append(_ number: UInt64, to out: inout [UInt8]) {
        if number < 10 {
            out.append(0x30 &+ UInt8(truncatingIfNeeded: number))
            return
        }
        // At most 20 digits: another call writes the upper ones, as eight fit a word.
        var rest = number
        if rest >= 100_000_000 {
            append(rest / 100_000_000, to: &out)
            rest %= 100_000_000
            appendDigits(rest, count: 8, to: &out)
        } else {
            appendDigits(rest, count: digitCount(UInt32(rest)), to: &out)
        }
    }

    /// Appends a number of at most `count` digits, padded with leading zeros.
    ///
    /// - Parameter count: 1…8.
    package static func appendDigits(_ number: UInt64, count: Int, to out: inout [UInt8]) {
        var rest = UInt32(truncatingIfNeeded: number)
        var digits: UInt64 = 0
        for _ in 0..<count {
            digits = digits &<< 8 | UInt64(0x30 &+ rest % 10)
            rest /= 10
        }
        for _ in 0..<count {
            out.append(UInt8(truncatingIfNeeded: digits))
            digits &>>= 8
        }
    }

    /// The number of digits that ``append(_:to:)`` appends.
    package static func count(_ number: UInt64) -> Int {
        var count = 0
        var rest = number
        while rest >= 100_000_000 {
            rest /= 100_000_000
            count += 8
        }
        return count + digitCount(UInt32(truncatingIfNeeded: rest))
    }

    private static func digitCount(_ number: UInt32) -> Int {
        if number < 10_000 {
            return number < 100 ? (number < 10 ? 1 : 2) : (number < 1_000 ? 3 : 4)
        }
        if number < 1_000_000 { return number < 100_000 ? 5 : 6 }
        return number < 10_000_000 ? 7 : 8
    }
}
