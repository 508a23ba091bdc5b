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

    private func set(_ keys: String...) async throws(TokenKeyFailure) -> [TokenKey] {
        try await TokenKey.set(json: Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8))
    }

    @Test func `a set has the keys that can be used`() async throws {
        let keys = try await set(
            Self.p256, Self.ed, #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#,
            #"{"kty":"RSA","n":"AA","e":"AQAB","use":"enc"}"#, #"{"kty":"new"}"#,
            #"{"kty":"RSA","n":"AA","e":"AQAB","alg":"RS512"}"#)
        #expect(keys.map(\.id) == ["1", "2"])
        #expect(keys.map(\.algorithm) == [.es256, .edDSA])
    }

    @Test func `a token is verified by the keys of a set`() async throws {
        // RFC 8037, appendix A.4.
        let key = try await set(Self.ed)[0]
        let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        let signature = """
            hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg
            """
        let bytes = try #require(Base64URL.decode(signature.utf8))
        #expect(key.verifies(bytes, of: Array(signed.utf8)[...]))
        #expect(!key.verifies(bytes, of: Array(signed.utf8).dropLast()))
    }

    @Test(arguments: [
        ("", "not JSON"), ("[]", "no array"), (#"{"keys":{}}"#, "no array"),
        (#"{"keys":[]}"#, "no key for"), (#"{"keys":[1]}"#, "not an object"),
        (#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#, "secret"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","d":"AA"}]}"#, "secret"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}"#, "not a valid key"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519"}]}"#, "no string \"x\""),
        (#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#, "not a valid key"),
        (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "key"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","kid":1}]}"#, "no string \"kid\""),
        ("{\"keys\":[\(ed),\(ed)]}", "two keys"),
        (
            "{\"keys\":[\(Array(repeating: "1", count: 65).joined(separator: ","))]}",
            "64 is the limit"
        ),
    ])
    func `a faulty set is refused with its reason`(json: String, reason: String) async throws {
        do throws(TokenKeyFailure) {
            _ = try await TokenKey.set(json: Array(json.utf8))
            Issue.record("accepted: \(json)")
        } catch {
            #expect(error.description.contains(reason), "\(error)")
        }
    }

    @Test func `RFC 7518 §3.2: a secret has 32 bytes at least`() async throws {
        await #expect(throws: TokenKeyFailure.self) {
            try await TokenKey.secret(Array(repeating: 1, count: 31))
        }
        _ = try await TokenKey.secret(Array(repeating: 1, count: 32))
    }

    @Test func `a PEM file has one public key`() async throws {
        let mint = try await Mint()
        #expect(try await TokenKey.pem(mint.rsaPEM).algorithm == .rs256)
        #expect(try await TokenKey.pem(mint.p256PEM).algorithm == .es256)
        #expect(try await TokenKey.pem(mint.edPEM).algorithm == .edDSA)
        for (text, reason) in [
            (Mint.rsaPrivatePEM, "private key"), ("", "one block"),
            (mint.p256PEM + "\n" + mint.edPEM, "one block"),
            ("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", "one block"),
            ("-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n", "not a public key"),
        ] {
            do throws(TokenKeyFailure) {
                _ = try await TokenKey.pem(text)
                Issue.record("accepted: \(reason)")
            } catch {
                #expect(error.description.contains(reason), "\(error)")
            }
        }
    }

    @Test func `there are 1 to 64 keys`() async throws {
        #expect(throws: TokenKeyFailure.self) { try JWTAuthenticator(keys: []) }
        let key = try await TokenKey.secret(Array(repeating: 1, count: 32))
        #expect(throws: TokenKeyFailure.self) {
            try JWTAuthenticator(keys: Array(repeating: key, count: 65))
        }
    }
}
