import JSONCoding
import Testing
@Test func smoke() throws { #expect(try JSON.decode(Int.self, from: Array("12".utf8)) == 12) }
