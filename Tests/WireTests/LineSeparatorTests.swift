import Testing

@testable import Wire

@Suite("Line separators beyond ASCII in the data of events", .timeLimit(.minutes(60)))
struct LineSeparatorTests {
    private func escaped(_ text: String) -> String {
        String(decoding: LineSeparators.escaped(Array(text.utf8)[...]), as: UTF8.self)
    }

    @Test func `U+0085, U+2028 and U+2029 are escaped wherever they stand`() {
        for separator in ["\u{85}", "\u{2028}", "\u{2029}"] {
            let scalar = String(separator.unicodeScalars.first?.value ?? 0, radix: 16)
            let escape = #"\u"# + String(repeating: "0", count: 4 - scalar.count) + scalar
            for before in 0...17 {
                for after in 0...9 {
                    let (start, end) = (
                        String(repeating: "a", count: before), String(repeating: "é", count: after)
                    )
                    #expect(escaped(start + separator + end) == start + escape + end)
                    #expect(
                        escaped(start + separator + separator + end + separator)
                            == start + escape + escape + end + escape)
                }
            }
        }
    }

    // These texts share bytes with a separator.
    @Test(arguments: [
        "", "a", "é\u{84}\u{86}", "\u{2027}\u{202A}…“”€", "\u{E28}\u{1F680}", "12345678\u{A9}",
    ])
    func `other text is left as it is`(text: String) { #expect(escaped(text) == text) }

    @Test func `bytes that are cut off within a separator are left as they are`() {
        for bytes: [UInt8] in [[0xc2], [0xe2], [0xe2, 0x80], [0x61, 0xe2, 0x80]] {
            #expect(Array(LineSeparators.escaped(bytes[...])) == bytes)
        }
    }

    @Test func `only what follows an offset is escaped`() {
        var bytes = Array("\u{2028}a\u{2028}".utf8)
        LineSeparators.escape(from: 3, in: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "\u{2028}a\\u2028")
    }

    @Test func `a slice that does not begin at 0 is read from its beginning`() {
        let bytes = Array("\u{2028}xx\u{85}y".utf8)
        #expect(
            String(decoding: LineSeparators.escaped(bytes[3...]), as: UTF8.self) == "xx\\u0085y")
    }
}
