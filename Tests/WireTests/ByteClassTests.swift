import Testing

@testable import Wire

@Suite("RFC 9110 and RFC 3986 — character classes", .timeLimit(.minutes(60)))
struct ByteClassTests {
    private let alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

    private func members(_ contains: (UInt8) -> Bool) -> Set<UInt8> {
        Set((UInt8.min...UInt8.max).filter(contains))
    }

    @Test func `a token consists of tchar`() {
        let tchar = Set((alphanumeric + "!#$%&'*+-.^_`|~").utf8)
        #expect(members(ByteClass.token.contains) == tchar)
    }

    @Test func `a host name is unreserved, sub-delims and the percent sign`() {
        let name = Set((alphanumeric + "-._~" + "!$&'()*+,;=" + "%").utf8)
        #expect(members(ByteClass.hostName.contains) == name)
    }

    @Test func `a target is visible ASCII without five`() {
        let target = Set(UInt8(0x21)...0x7e).subtracting("\"#<>\\".utf8)
        #expect(members(ByteClass.target.contains) == target)
    }

    @Test func `a hexadecimal digit has its value in either case`() {
        for byte in UInt8.min...UInt8.max {
            let text = String(UnicodeScalar(byte))
            let value = byte < 0x80 && text != "+" && text != "-" ? UInt8(text, radix: 16) : nil
            #expect(ByteClass.hexValue(byte) == value)
        }
    }

    @Test func `only letters are equal in either case, at any position`() {
        let text: StaticString = "azmq[{@`/-9zaz"
        let wanted = Array("azmq[{@`/-9zaz".utf8)
        func equals(_ bytes: [UInt8], _ range: Range<Int>, ignoringCase: Bool) -> Bool {
            bytes.span.equals(text, in: range, ignoringCase: ignoringCase)
        }
        for place in wanted.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = wanted
                bytes[place] = byte
                let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(wanted[place])
                let isCapital = isLetter && byte == wanted[place] - 0x20
                let isSame = byte == wanted[place]
                #expect(equals(bytes, 0..<14, ignoringCase: true) == (isSame || isCapital))
                #expect(equals(bytes, 0..<14, ignoringCase: false) == isSame)
            }
        }
        let surrounded = Array("xAZMQ[{@`/-9ZAZx".utf8)
        #expect(equals(surrounded, 1..<15, ignoringCase: true))
        #expect(!equals(surrounded, 0..<15, ignoringCase: true))
        #expect(!equals(surrounded, 1..<14, ignoringCase: true))
    }

    @Test func `the first matching byte of eight is found at any position`() {
        for filler in [UInt8(0x00), 0x09, 0x0b, 0x8a, 0xff, 0x0d] {
            for length in 0...20 {
                for place in 0..<length {
                    var bytes = [UInt8](repeating: filler, count: length)
                    bytes[place] = 0x0a
                    #expect(bytes.span.first(0x0a, in: 0..<length) == place)
                    #expect(bytes.span.first(0x0a, in: 0..<place) == nil)
                    let lineBreak = filler == 0x0d ? 0 : place
                    #expect(bytes.span.firstLineBreak(in: 0..<length) == lineBreak)
                    #expect(bytes.span.first(0x0a, in: (place + 1)..<length) == nil)
                }
            }
        }
    }
}
