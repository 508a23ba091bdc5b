/// Dates in HTTP's format: IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
///
/// Design: plain arithmetic on days, because the module has no clock and no calendar; a loop
/// formats the date once a second and keeps the bytes.
package struct HTTPDate {
    /// Appends 29 bytes.
    ///
    /// - Parameter secondsSinceEpoch: Seconds since 1970-01-01T00:00:00Z without leap seconds;
    ///   clamped to the years 1 to 9999, because the format has four digits for the year.
    package static func append(secondsSinceEpoch: Int64, to out: inout [UInt8]) {
        let seconds = min(max(secondsSinceEpoch, -62_135_596_800), 253_402_300_799)
        var days = seconds / 86_400
        var second = seconds % 86_400
        if second < 0 {
            second += 86_400
            days -= 1
        }
        let date = civil(daysSinceEpoch: days)
        // 1970-01-01 was a Thursday.
        appendName(Self.weekdays, Int(((days + 4) % 7 + 7) % 7), to: &out)
        out.append(0x2c)
        out.append(0x20)
        Decimal.appendDigits(UInt64(date.day), count: 2, to: &out)
        out.append(0x20)
        appendName(Self.months, date.month - 1, to: &out)
        out.append(0x20)
        Decimal.appendDigits(UInt64(date.year), count: 4, to: &out)
        out.append(0x20)
        Decimal.appendDigits(UInt64(second / 3_600), count: 2, to: &out)
        out.append(0x3a)
        Decimal.appendDigits(UInt64(second / 60 % 60), count: 2, to: &out)
        out.append(0x3a)
        Decimal.appendDigits(UInt64(second % 60), count: 2, to: &out)
        out.append(contentsOf: " GMT".utf8)
    }

    private static let weekdays: [UInt8] = Array("SunMonTueWedThuFriSat".utf8)
    private static let months: [UInt8] = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)

    private static func appendName(_ names: [UInt8], _ index: Int, to out: inout [UInt8]) {
        out.append(contentsOf: names[(index * 3)..<(index * 3 + 3)])
    }

    /// The date in the Gregorian calendar.
    ///
    /// Years start in March here, so that the leap day is the last day of its year, and 400 years
    /// always have 146 097 days.
    static func civil(daysSinceEpoch days: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let leapDays = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (Int(year), Int(month), Int(day))
    }
}
