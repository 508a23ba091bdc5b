/// Times in the format of JSON: `2024-02-29T23:59:59.999Z` (RFC 3339 §5.6, UTC).
package enum Timestamp {
    /// Appends 24 bytes.
    ///
    /// - Parameter milliseconds: Milliseconds since 1970-01-01T00:00:00Z without leap seconds;
    ///   clamped to the years 1 to 9999, because the format has four digits for the year.
    package static func append(milliseconds: Int64, to out: inout [UInt8]) {
        let least: Int64 = -62_135_596_800_000
        let greatest: Int64 = 253_402_300_799_999
        let moment = min(max(milliseconds, least), greatest)
        let day: Int64 = 86_400_000
        let rest = ((moment % day) + day) % day
        let date = HTTPDate.civil(daysSinceEpoch: (moment - rest) / day)
        append(date.year, 4, "-", to: &out)
        append(date.month, 2, "-", to: &out)
        append(date.day, 2, "T", to: &out)
        append(Int(rest / 3_600_000), 2, ":", to: &out)
        append(Int(rest / 60_000 % 60), 2, ":", to: &out)
        append(Int(rest / 1_000 % 60), 2, ".", to: &out)
        append(Int(rest % 1_000), 3, "Z", to: &out)
    }

    private static func append(
        _ number: Int, _ count: Int, _ suffix: Unicode.Scalar, to out: inout [UInt8]
    ) {
        Decimal.appendDigits(UInt64(number), count: count, to: &out)
        out.append(UInt8(ascii: suffix))
    }
}
