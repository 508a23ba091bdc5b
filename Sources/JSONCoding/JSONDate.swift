// RFC 3339 §5.6: date "T" time with an optional fraction, then "Z" or an offset; "t" and "z" may be
// lower case. Times are seconds since 2001-01-01T00:00:00Z, Foundation's reference date.

/// The text form of a date: RFC 3339 in UTC with milliseconds.
package enum JSONDate {
    /// 2001-01-01 in days since 1970-01-01.
    private static let referenceDay = 11_323
    private static let millisecondsPerDay = 86_400_000
    /// The years 0000 to 9999, in milliseconds since 2001: RFC 3339 has no form for other years.
    private static let range = -63_145_526_400_000..<252_423_993_600_000

    /// Appends `"2026-11-22T07:30:00.000Z"`, rounded; returns false beyond that range.
    static func append(_ seconds: Double, to out: inout [UInt8]) -> Bool {
        let rounded = (seconds * 1_000).rounded()
        guard rounded.isFinite, rounded.magnitude < 0x1p53, range.contains(Int(rounded)) else {
            return false
        }
        let (days, time) = floorDivide(Int(rounded), by: millisecondsPerDay)
        let (year, month, day) = civil(from: days + referenceDay)
        out.append(UInt8(ascii: "\""))
        append(year, digits: 4, to: &out)
        append(month, digits: 2, after: "-", to: &out)
        append(day, digits: 2, after: "-", to: &out)
        append(time / 3_600_000, digits: 2, after: "T", to: &out)
        append(time / 60_000 % 60, digits: 2, after: ":", to: &out)
        append(time / 1_000 % 60, digits: 2, after: ":", to: &out)
        append(time % 1_000, digits: 3, after: ".", to: &out)
        out.append(contentsOf: "Z\"".utf8)
        return true
    }

    private static func append(
        _ value: Int, digits: Int, after mark: Unicode.Scalar? = nil, to out: inout [UInt8]
    ) {
        if let mark { out.append(UInt8(truncatingIfNeeded: mark.value)) }
        var unit = 1
        for _ in 1..<digits { unit *= 10 }
        while unit > 0 {
            out.append(0x30 + UInt8(truncatingIfNeeded: value / unit % 10))
            unit /= 10
        }
    }

    /// Seconds since 2001; nil if the text is not a date. A leap second equals the second after it.
    package static func seconds(_ text: String) -> Double? {
        var rest = Substring(text).utf8
        guard let year = number(4, &rest), consume("-", &rest), let month = number(2, &rest),
            consume("-", &rest), let day = number(2, &rest), consume("T", or: "t", &rest),
            let hour = number(2, &rest), consume(":", &rest), let minute = number(2, &rest),
            consume(":", &rest), let second = number(2, &rest), let fraction = fraction(&rest),
            let offset = offset(&rest), rest.isEmpty, (1...12).contains(month), day >= 1,
            day <= days(in: month, of: year), hour < 24, minute < 60, second <= 60
        else { return nil }
        let whole =
            (days(toYear: year, month, day) - referenceDay) * 86_400 + hour * 3_600 + minute * 60
            + second - offset
        return Double(whole) + fraction
    }

    private static func number(_ digits: Int, _ rest: inout Substring.UTF8View) -> Int? {
        guard rest.count >= digits else { return nil }
        var value = 0
        for byte in rest.prefix(digits) {
            guard byte &- 0x30 < 10 else { return nil }
            value = value * 10 + Int(byte &- 0x30)
        }
        rest = rest.dropFirst(digits)
        return value
    }

    private static func consume(
        _ mark: Unicode.Scalar, or other: Unicode.Scalar? = nil,
        _ rest: inout Substring.UTF8View
    ) -> Bool {
        guard let first = rest.first,
            UInt32(first) == mark.value || UInt32(first) == other?.value
        else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// The fraction; 0 if there is none, nil for a dot without digits.
    private static func fraction(_ rest: inout Substring.UTF8View) -> Double? {
        guard consume(".", &rest) else { return 0 }
        let digits = rest.prefix { $0 &- 0x30 < 10 }
        guard !digits.isEmpty else { return nil }
        rest = rest.dropFirst(digits.count)
        return Double("0." + String(Substring(digits)))
    }

    /// The offset in seconds, to be subtracted; nil if there is none.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int? {
        if consume("Z", or: "z", &rest) { return 0 }
        let isBehind = rest.first == UInt8(ascii: "-")
        guard consume("+", or: "-", &rest), let hours = number(2, &rest), consume(":", &rest),
            let minutes = number(2, &rest), hours < 24, minutes < 60
        else { return nil }
        return (isBehind ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }

    private static func floorDivide(_ value: Int, by divisor: Int) -> (quotient: Int, rest: Int) {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    /// Years start in March here, so that the leap day is the last; 400 years have 146 097 days.
    private static func days(toYear year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let (era, ofEra) = floorDivide(shifted, by: 400)
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }

    private static func civil(from days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, ofEra) = floorDivide(days + 719_468, by: 146_097)
        let year = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let shifted = (5 * ofYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (
            year + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * shifted + 2) / 5 + 1
        )
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
