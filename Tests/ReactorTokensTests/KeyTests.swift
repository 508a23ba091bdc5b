import ReactorHosting
import Testing

@testable import ReactorTokens

@Suite("RFC 7517, RFC 7518 — keys", .timeLimit(.minutes(60)))
struct KeyTests {
    /// RFC 7517, appendix A.1, a P-256 key for signatures; the other one is for encryption.
    private static let p256 = """
        {"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",\
        "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"sig","kid":"1"}
        """
    /// RFC 8037, appendix A.2.
    private static let ed = """
        {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"2"}
        """

    /// 2048 bits, 8208 bits, and 32 bytes of 0.
    private static let modulus = String(repeating: "____", count: 85) + "_w"
    private static let longModulus = String(repeating: "____", count: 342)
    private static let zero = String(repeating: "A", count: 43)

    private func set(_ keys: String...) throws(TokenKeyFailure) -> [TokenKey] {
        try TokenKey.set(json: Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8))
    }

    @Test func `a set has the keys that can be used`() throws {
        let keys = try set(
            Self.p256, Self.ed, #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#,
            #"{"kty":"RSA","n":"AA","e":"AQAB","use":"enc"}"#, #"{"kty":"new"}"#,
            #"{"kty":"RSA","n":"AA","e":"AQAB","alg":"RS512"}"#)
        #expect(keys.map(\.id) == ["1", "2"])
        #expect(keys.map(\.algorithm) == [.es256, .edDSA])
    }

    private static let claims = """
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ
        """

    @Test(arguments: [
        // RFC 8037, appendix A.4.
        (
            ed, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            """
            hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg
            """
        ),
        // RFC 7515, appendix A.3.
        (
            """
            {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",\
            "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
            """, "eyJhbGciOiJFUzI1NiJ9.\(claims)",
            """
            DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q
            """
        ),
        // RFC 7515, appendix A.2.
        (
            """
            {"kty":"RSA","e":"AQAB","n":"\
            ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt\
            0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX\
            ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5\
            IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}
            """, "eyJhbGciOiJSUzI1NiJ9.\(claims)",
            """
            cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W\
            2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS\
            jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv\
            Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
            """
        ),
    ])
    func `the signatures of the standards are verified`(
        key: String, signed: String, signature: String
    ) throws {
        let key = try set(key)[0]
        let signed = Array(signed.utf8)
        let signature = try #require(Base64URL.decode(signature.utf8))
        #expect(key.verifies(signature, of: signed[...]))
        #expect(!key.verifies(signature, of: signed.dropLast()))
        #expect(!key.verifies(signature.dropLast(), of: signed[...]))
        #expect(!key.verifies(signature + [0], of: signed[...]))
        for index in [0, signature.count / 2, signature.count - 1] {
            var other = signature
            other[index] ^= 1
            #expect(!key.verifies(other, of: signed[...]), "\(index)")
        }
    }

    @Test func `a number of an ES256 signature may begin with zeros`() throws {
        let mint = try Mint()
        let key = try TokenKey.pem(mint.p256PEM)
        var met = (first: false, second: false)
        var turn = 0
        while !met.first || !met.second {
            let signed = Array("\(turn)".utf8)
            let signature = try mint.p256.sign(signed)
            #expect(key.verifies(signature, of: signed[...]), "\(signature)")
            if signature[0] == 0 { met.first = true }
            if signature[32] == 0 { met.second = true }
            turn += 1
        }
    }

    @Test(arguments: [
        ("", "not JSON"), ("[]", "no array"), (#"{"keys":{}}"#, "no array"),
        (#"{"keys":[]}"#, "no key for"), (#"{"keys":[1]}"#, "not an object"),
        (#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#, "secret"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","d":"AA"}]}"#, "secret"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}"#, "not a valid key"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519"}]}"#, "no string \"x\""),
        (#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#, "not a valid key"),
        (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "17 bits"),
        (#"{"keys":[{"kty":"RSA","n":"\#(modulus)","e":"AQ"}]}"#, "unusual exponent"),
        (#"{"keys":[{"kty":"RSA","n":"\#(modulus)","e":"AQAA"}]}"#, "unusual exponent"),
        (#"{"keys":[{"kty":"RSA","n":"\#(modulus)","e":"AwAAAAE"}]}"#, "unusual exponent"),
        (#"{"keys":[{"kty":"RSA","n":"\#(longModulus)","e":"AQAB"}]}"#, "8208 bits"),
        (#"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(zero)","y":"\#(zero)"}]}"#, "curve"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"=AA"}]}"#, "base64url"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","kid":1}]}"#, "no string \"kid\""),
        ("{\"keys\":[\(ed),\(ed)]}", "two keys"),
        (
            "{\"keys\":[\(Array(repeating: "1", count: 65).joined(separator: ","))]}",
            "64 is the limit"
        ),
    ])
    func `a faulty set is refused with its reason`(json: String, reason: String) throws {
        do throws(TokenKeyFailure) {
            _ = try TokenKey.set(json: Array(json.utf8))
            Issue.record("accepted: \(json)")
        } catch {
            #expect(error.description.contains(reason), "\(error)")
        }
    }

    @Test func `RFC 7518 §3.2: a secret has 32 bytes at least`() throws {
        #expect(throws: TokenKeyFailure.self) {
            try TokenKey.secret(Array(repeating: 1, count: 31))
        }
        _ = try TokenKey.secret(Array(repeating: 1, count: 32))
    }

    @Test func `a PEM file has one public key`() throws {
        let mint = try Mint()
        #expect(try TokenKey.pem(mint.rsaPEM).algorithm == .rs256)
        #expect(try TokenKey.pem(mint.p256PEM).algorithm == .es256)
        #expect(try TokenKey.pem(mint.edPEM).algorithm == .edDSA)
        #expect(try TokenKey.pem(Self.pkcs1).algorithm == .rs256)
        for (text, reason) in [
            (Mint.rsaPrivatePEM, "private key"), ("", "one block"),
            (mint.p384.publicPEM, "not a public key"),
            (mint.p256PEM + "\n" + mint.edPEM, "one block"),
            ("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", "one block"),
            ("-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n", "not a public key"),
            // P-256, and its point at infinity.
            (
                "-----BEGIN PUBLIC KEY-----\nMBkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDAgAA\n"
                    + "-----END PUBLIC KEY-----\n", "not a public key"
            ),
        ] {
            do throws(TokenKeyFailure) {
                _ = try TokenKey.pem(text)
                Issue.record("accepted: \(reason)")
            } catch {
                #expect(error.description.contains(reason), "\(error)")
            }
        }
    }

    @Test func `there are 1 to 64 keys`() throws {
        #expect(throws: TokenKeyFailure.self) { try JWTAuthenticator(keys: []) }
        let key = try TokenKey.secret(Array(repeating: 1, count: 32))
        #expect(throws: TokenKeyFailure.self) {
            try JWTAuthenticator(keys: Array(repeating: key, count: 65))
        }
    }

    private static let pkcs1 = """
        -----BEGIN RSA PUBLIC KEY-----
        MIIBCgKCAQEAn5BvFq5BWLuC0gJFVZT7/m7rEFiVq05XwJ6TZeNlQcWoXzR1rJJV
        4KpcDUzLRAK4pn2BDJ1iigvZQAyNoMGjBfRBIDAe+FnY+ybrOBHdFJZBZWn/S+KS
        hL5VgCK4fBeibg0ig+j5CO9yH/IIIW2YzZbCM8Xnc5BsSbC9+62SEgGl+WdgAGG6
        sX44jicc8EaCwPvqzhXUiQLETOyj96/muHBa1vWzInM3909NWrmbQ8168bnGmCA6
        KDZzedb9jvpxXfAGk/foHAUTy1S9Jl6bDfO/Yun9QOX7qmdlBBazi1SvHfOcgXW+
        eTk2eESRr8kdpZMQ/TdCY+I66rIZWTXuMQIDAQAB
        -----END RSA PUBLIC KEY-----

        """
}
