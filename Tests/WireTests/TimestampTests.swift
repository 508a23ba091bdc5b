import Testing
import Wire

@Suite("RFC 3339 §5.6 — timestamps in UTC with milliseconds", .timeLimit(.minutes(60)))
struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_827_696_789, "2000-02-29T12:34:56.789Z"),
        (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
        (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (Int64.min, "0001-01-01T00:00:00.000Z"), (Int64.max, "9999-12-31T23:59:59.999Z"),
    ])
    func `a moment is written with all its digits`(milliseconds: Int64, text: String) {
        var out: [UInt8] = []
        Timestamp.append(milliseconds: milliseconds, to: &out)
        #expect(String(decoding: out, as: UTF8.self) == text)
    }
}
