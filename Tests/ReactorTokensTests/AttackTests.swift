import ReactorHosting
import Testing

@testable import ReactorTokens

/// A token that differs in one way from a valid one, and a part of the reason for its refusal: a
/// token that is refused for another reason would prove nothing.
private struct Attack {
    let name: String
    let token: String
    let reason: String
}

@Suite("RFC 8725 — a token that is not as it must be is refused", .timeLimit(.minutes(60)))
struct AttackTests {
    @Test func `every attack is refused for its own reason`() async throws {
        let mint = try Mint()
        let tokens = try mint.authenticator()
        // The control: what all of them differ from.
        let valid = try await tokens.authenticate(bearer: try mint.token())
        #expect(valid.subject == "ada")
        let attacks =
            try headers(mint) + algorithms(mint) + texts(mint) + signatures(mint)
            + claims(mint) + grants(mint)
        #expect(attacks.count >= 40)
        #expect(Set(attacks.map(\.token)).count == attacks.count, "two attacks are the same")
        for attack in attacks {
            do throws(AuthenticationFailure) {
                _ = try await tokens.authenticate(bearer: attack.token)
                Issue.record("accepted: \(attack.name)")
            } catch {
                guard case .invalid(let reason) = error else {
                    Issue.record("\(attack.name): \(error)")
                    continue
                }
                #expect(reason.contains(attack.reason), "\(attack.name): \(reason)")
            }
        }
    }

    private func headers(_ mint: Mint) throws -> [Attack] {
        try [
            ("crit", #""crit":["exp"]"#, "\"crit\""),
            ("empty crit", #""crit":[]"#, "\"crit\""),
            ("an unencoded payload", #""b64":false"#, "\"b64\""),
            ("jku", #""jku":"https://evil.example/keys""#, "\"jku\""),
            ("x5u", #""x5u":"https://evil.example/cert""#, "\"x5u\""),
            ("x5c", #""x5c":["MIIB"]"#, "\"x5c\""),
            ("an embedded jwk", #""jwk":{"kty":"oct","k":"AAAA"}"#, "\"jwk\""),
            ("an encrypted token", #""enc":"A128GCM""#, "\"enc\""),
            ("a compressed token", #""zip":"DEF""#, "\"zip\""),
            ("a nested token", #""cty":"JWT""#, "\"cty\""),
            ("another typ", #""typ":"JOSE""#, "typ"),
            ("typ is a number", #""typ":1"#, "typ"),
            ("an unknown kid", #""kid":"nobody""#, "kid"),
            ("kid is a path", #""kid":"../../../../dev/null""#, "kid"),
            ("kid is SQL", #""kid":"h' UNION SELECT 'x""#, "kid"),
            ("kid with a zero byte", #""kid":"h\u0000""#, "kid"),
            ("kid in another case", #""kid":"H""#, "kid"),
            ("kid is a number", #""kid":1"#, "kid"),
            ("kid is null", #""kid":null"#, "kid"),
            ("a huge kid", #""kid":"\#(String(repeating: "h", count: 300))""#, "256 bytes"),
            ("alg twice", #""alg":"HS256""#, "occurs twice"),
        ].map { name, member, reason in
            Attack(
                name: name, token: try mint.token(#"{"alg":"HS256",\#(member)}"#), reason: reason)
        }
    }

    private func algorithms(_ mint: Mint) throws -> [Attack] {
        let none = ["none", "None", "NONE", "nOnE", "none ", "", "HS256\\u0000"]
        var attacks = try none.map { name in
            Attack(
                name: "alg \"\(name)\"", token: try mint.token(#"{"alg":"\#(name)"}"#),
                reason: "alg is not")
        }
        for name in ["HS384", "HS512", "hs256", "RS512", "PS256", "ES384", "A128KW"] {
            attacks.append(
                Attack(
                    name: "alg \(name)", token: try mint.token(#"{"alg":"\#(name)"}"#),
                    reason: "alg is not"))
        }
        for (name, value) in [("null", "null"), ("a list", #"["HS256"]"#), ("a number", "0")] {
            attacks.append(
                Attack(
                    name: "alg is \(name)", token: try mint.token(#"{"alg":\#(value)}"#),
                    reason: "alg is not"))
        }
        attacks.append(
            Attack(name: "no alg", token: try mint.token(#"{"typ":"JWT"}"#), reason: "alg is not"))
        attacks.append(
            Attack(
                name: "the RSA public key as the secret",
                token: try mint.token(#"{"alg":"HS256","kid":"r"}"#, by: mint.confused),
                reason: "alg is not that of a configured key"))
        for (kid, pinned) in [("r", "RS256"), ("e", "ES256"), ("d", "EdDSA")] {
            attacks.append(
                Attack(
                    name: "HS256 with the kid of the \(pinned) key",
                    token: try mint.token(#"{"alg":"HS256","kid":"\#(kid)"}"#),
                    reason: "alg is not that of a configured key"))
        }
        return attacks
    }

    /// Encodings of a valid token that a lenient decoder accepts.
    private func texts(_ mint: Mint) throws -> [Attack] {
        let valid = try mint.token()
        let parts = valid.split(separator: ".").map(String.init)
        let (header, payload, signature) = (parts[0], parts[1], parts[2])
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        return [
            ("nothing", "", "1 parts"), ("dots", "..", "no signature"),
            ("one part", header, "1 parts"), ("two parts", "\(header).\(payload)", "2 parts"),
            ("four parts", "\(valid).", "4 parts"),
            ("five parts, as a JWE", "a.b.c.d.e", "5 parts"),
            ("an empty header", ".\(payload).\(signature)", "header is not JSON"),
            ("an empty payload", "\(header)..\(signature)", "signature is not"),
            ("an empty signature", "\(header).\(payload).", "no signature"),
            ("padding", "\(header).\(payload).\(signature)=", "base64url"),
            ("a space before", " \(valid)", "base64url"),
            ("a line break after", "\(valid)\n", "base64url"),
            ("a tab inside", "\(header).\t\(payload).\(signature)", "base64url"),
            ("the other alphabet", "\(header).\(payload).ab+/", "base64url"),
            ("not ASCII", "\(header).\(payload).é", "base64url"),
            ("an impossible length", "\(header).\(payload).\(signature)AA", "base64url"),
            (
                "unused bits that are set",
                "\(header).\(payload).\(signature.dropLast())\(after(signature))", "base64url"
            ),
            (
                "too large", try mint.token(Mint.header, String(repeating: " ", count: 9_000)),
                "8192 bytes"
            ),
            ("a header of text", try mint.token(#""HS256""#), "not a JSON object"),
            ("a header with a comment", try mint.token(#"{"alg":"HS256"/**/}"#), "not JSON"),
            ("more after the header", try mint.token(#"{"alg":"HS256"}{}"#), "not JSON"),
            ("a payload of text", try mint.token(Mint.header, "ada"), "payload is not JSON"),
            ("a payload that is a list", try mint.token(Mint.header, "[]"), "not a JSON object"),
            (
                "a payload that nests deep",
                try mint.token(Mint.header, Mint.payload(more: #""x":\#(deep),"#)), "128 nested"
            ),
        ].map(Attack.init)
    }

    /// The last character with another of its unused bits.
    private func after(_ signature: String) -> Character {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let index = signature.last.flatMap { alphabet.firstIndex(of: $0) } ?? 0
        return alphabet[index | 1]
    }

    private func signatures(_ mint: Mint) throws -> [Attack] {
        let valid = try mint.token()
        let other = try mint.token(Mint.header, Mint.payload(sub: #""eve""#))
        let parts = valid.split(separator: ".").map(String.init)
        let others = other.split(separator: ".").map(String.init)
        let reason = "signature is not"
        let p256 = try mint.token(#"{"alg":"ES256","kid":"e"}"#, by: mint.p256)
        let zeros = Base64URL.encode([UInt8](repeating: 0, count: 64))
        let unsignedP256 = p256.prefix(upTo: p256.lastIndex(of: ".") ?? p256.endIndex)
        return [
            ("another payload", "\(parts[0]).\(others[1]).\(parts[2])"),
            (
                "another header",
                "\(Base64URL.encode(#"{"alg":"HS256"}"#.utf8)).\(parts[1]).\(parts[2])"
            ),
            ("a truncated signature", String(valid.dropLast(4))),
            ("a longer signature", valid + "AAAA"),
            ("a signature of zeros", "\(parts[0]).\(parts[1]).\(zeros)"),
            ("an ECDSA signature of zeros (CVE-2022-21449)", "\(unsignedP256).\(zeros)"),
            ("an ECDSA signature as DER", "\(unsignedP256).MEUCIQ"),
            (
                "another P-256 key",
                try mint.token(#"{"alg":"ES256","kid":"e"}"#, by: mint.stranger)
            ),
            (
                "another curve", try mint.token(#"{"alg":"ES256","kid":"e"}"#, by: mint.p384)
            ),
            (
                "the RSA public key as the secret, without kid",
                try mint.token(#"{"alg":"HS256"}"#, by: mint.confused)
            ),
            ("an RSA signature by the HMAC key", try mint.token(#"{"alg":"RS256","kid":"r"}"#)),
            (
                "an Ed25519 signature by the P-256 key",
                try mint.token(#"{"alg":"EdDSA"}"#, by: mint.p256)
            ),
        ].map { Attack(name: $0.0, token: $0.1, reason: reason) }
    }

    private func claims(_ mint: Mint) throws -> [Attack] {
        let now = Mint.now
        let payloads: [(String, String, String)] = [
            ("no exp", Mint.payload(exp: nil), "no exp"),
            ("exp has passed", Mint.payload(exp: "\(now - 31)"), "expired"),
            ("exp is at the end of the leeway", Mint.payload(exp: "\(now - 30)"), "expired"),
            ("exp is text", Mint.payload(exp: "\"\(now + 60)\""), "exp is not a number"),
            ("exp is a fraction that has passed", Mint.payload(exp: "\(now - 30).9"), "expired"),
            ("nbf is a fraction ahead", Mint.payload(more: #""nbf":\#(now + 30).1,"#), "nbf"),
            ("exp is a fraction below 0", Mint.payload(exp: "-0.5"), "exp is not a number"),
            ("exp is beyond a Double", Mint.payload(exp: "1e400"), "exp is not a number"),
            ("exp is huge", Mint.payload(exp: "9223372036854775807"), "exp is not a number"),
            ("exp overflows", Mint.payload(exp: "99999999999999999999"), "exp is not a number"),
            ("exp in milliseconds", Mint.payload(exp: "\(now)000"), "exp is not a number"),
            ("exp is negative", Mint.payload(exp: "-1"), "exp is not a number"),
            ("exp is true", Mint.payload(exp: "true"), "exp is not a number"),
            ("exp is null", Mint.payload(exp: "null"), "exp is not a number"),
            ("exp twice", Mint.payload(more: #""exp":\#(now + 9),"#), "occurs twice"),
            ("sub twice, once escaped", Mint.payload(more: #""s\u0075b":"eve","#), "occurs twice"),
            ("nbf ahead", Mint.payload(more: #""nbf":\#(now + 31),"#), "nbf"),
            ("nbf is text", Mint.payload(more: #""nbf":"0","#), "nbf is not a number"),
            ("iat ahead", Mint.payload(more: #""iat":\#(now + 31),"#), "iat"),
            ("no iss", Mint.payload(iss: nil), "iss"),
            ("another iss", Mint.payload(iss: #""issuer.evil""#), "iss"),
            ("iss is a list", Mint.payload(iss: #"["issuer"]"#), "iss"),
            ("no aud", Mint.payload(aud: nil), "no aud"),
            ("another aud", Mint.payload(aud: #""serve""#), "aud does not contain"),
            ("aud is a list of others", Mint.payload(aud: #"["a","b"]"#), "aud does not contain"),
            ("aud is an empty list", Mint.payload(aud: "[]"), "aud does not contain"),
            ("aud is an object", Mint.payload(aud: #"{"server":1}"#), "aud is neither"),
            ("aud contains a number", Mint.payload(aud: #"["server",1]"#), "not a string"),
            ("no sub", Mint.payload(sub: nil), "sub"),
            ("an empty sub", Mint.payload(sub: #""""#), "sub"),
            ("NUL in sub", Mint.payload(sub: #""ada\u0000x""#), "sub contains a control"),
            ("a line feed in sub", Mint.payload(sub: #""ada\n""#), "sub contains a control"),
            ("a C1 control in sub", Mint.payload(sub: #""\u0085""#), "sub contains a control"),
            ("a long sub", Mint.payload(sub: "\"\(String(repeating: "a", count: 256))\""), "255"),
            ("iss is canonically equal", Mint.payload(iss: "\"iss\u{212A}\""), "iss"),
            ("sub is a number", Mint.payload(sub: "7"), "sub"),
        ]
        return try payloads.map {
            Attack(name: $0.0, token: try mint.token(Mint.header, $0.1), reason: $0.2)
        }
    }

    private func grants(_ mint: Mint) throws -> [Attack] {
        let grants: [(String, String?, String)] = [
            ("no grants", nil, "no claim"), ("grants as text", #""all""#, "is not an object"),
            ("no verbs", #"{"sessions":["*"]}"#, "needs"),
            ("no sessions", #"{"verbs":[]}"#, "needs"),
            ("an unknown verb", #"{"verbs":["reed"],"sessions":[]}"#, "unknown verb \"reed\""),
            ("a verb in another case", #"{"verbs":["Read"],"sessions":[]}"#, "unknown verb"),
            ("verbs as text", #"{"verbs":"read","sessions":[]}"#, "\"verbs\" of the claim"),
            ("a verb that is a number", #"{"verbs":[1],"sessions":[]}"#, "not a string"),
            (
                "a misspelt restriction", #"{"verbs":[],"sessions":[],"reactor":["chat"]}"#,
                "unknown member \"reactor\""
            ),
            ("own as text", #"{"verbs":[],"sessions":[],"own":"true"}"#, "\"own\" of the claim"),
            ("own as number", #"{"verbs":[],"sessions":[],"own":1}"#, "neither true nor false"),
            ("a star inside", #"{"verbs":[],"sessions":["a*b"]}"#, "neither an id"),
            ("two stars", #"{"verbs":[],"sessions":["a**"]}"#, "neither an id"),
            ("an empty session", #"{"verbs":[],"sessions":[""]}"#, "neither an id"),
            ("a path as session", #"{"verbs":[],"sessions":["../a"]}"#, "neither an id"),
            ("reactors null", #"{"verbs":[],"sessions":[],"reactors":null}"#, "\"reactors\" of"),
            (
                "too many sessions",
                #"{"verbs":[],"sessions":[\#(Array(repeating: #""a""#, count: 257).joined(separator: ","))]}"#,
                "at most 256"
            ),
        ]
        return try grants.map {
            Attack(
                name: $0.0, token: try mint.token(Mint.header, Mint.payload(grants: $0.1)),
                reason: $0.2)
        }
    }
}
