import Testing

@testable import Wire

@Suite("FIPS 180-4, RFC 4231 — SHA-256, and codes made with it", .timeLimit(.minutes(60)))
struct MessageCodeTests {
    // FIPS 180-4, the examples of NIST's cryptographic standards page.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `a hash is that of the standard's examples`(message: String, hash: String) {
        #expect(hexadecimal(SHA256.hash(Array(message.utf8))) == hash)
    }

    @Test func `a million bytes have the standard's hash`() {
        let message = [UInt8](repeating: 0x61, count: 1_000_000)
        #expect(
            hexadecimal(SHA256.hash(message))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `pieces of any size have the hash of the whole`() {
        let message = (0..<200).map { UInt8($0) }
        let whole = SHA256.hash(message)
        for cut in 0...message.count {
            var hash = SHA256()
            hash.update(Array(message[..<cut]))
            hash.update(Array(message[cut...]))
            #expect(hash.finish() == whole)
        }
    }

    // RFC 4231 §4.2 to §4.8.
    @Test(
        arguments: [
            (
                secret: [UInt8](repeating: 0x0b, count: 20), message: Array("Hi There".utf8),
                code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                Array(1...25), [UInt8](repeating: 0xcd, count: 50),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
            ),
            (
                [UInt8](repeating: 0xaa, count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                [UInt8](repeating: 0xaa, count: 131),
                Array(
                    ("This is a test using a larger than block-size key and a larger than "
                        + "block-size data. The key needs to be hashed before being used by the "
                        + "HMAC algorithm.").utf8),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
        ] as [(secret: [UInt8], message: [UInt8], code: String)])
    func `a code is that of RFC 4231`(secret: [UInt8], message: [UInt8], code: String) {
        #expect(hexadecimal(MessageCode.make(message, secret: secret)) == code)
    }

    @Test func `codes are equal if all bytes are`() {
        let code = MessageCode.make([1], secret: [2])
        #expect(MessageCode.areEqual(code, code))
        #expect(!MessageCode.areEqual(code, Array(code.dropLast())))
        for index in code.indices {
            var other = code
            other[index] ^= 1
            #expect(!MessageCode.areEqual(code, other))
        }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
