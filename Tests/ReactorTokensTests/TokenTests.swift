import JSONCoding
import ReactorHosting
import Testing

@testable import ReactorTokens

@Suite("RFC 7519 — valid tokens", .timeLimit(.minutes(60)))
struct TokenTests {
    @Test func `each algorithm is accepted with its own key, with and without kid`() async throws {
        let mint = try Mint()
        let tokens = try mint.authenticator()
        let keys: [(String, String, SigningKey)] = [
            ("HS256", "h", mint.secret), ("RS256", "r", mint.rsa), ("ES256", "e", mint.p256),
            ("EdDSA", "d", mint.ed),
        ]
        for (algorithm, kid, key) in keys {
            for header in [
                #"{"alg":"\#(algorithm)"}"#, #"{"alg":"\#(algorithm)","kid":"\#(kid)"}"#,
                #"{"typ":"at+jwt","x5t":"AA","alg":"\#(algorithm)"}"#,
            ] {
                let token = try mint.token(header, by: key)
                let principal = try await tokens.authenticate(bearer: token)
                #expect(
                    principal
                        == Principal(
                            subject: "ada",
                            grants: Grants(
                                verbs: [.act, .read], sessions: [.prefix("table-"), .id("one")]),
                            expiresAtSeconds: Mint.now + 90), "\(header)")
            }
        }
    }

    @Test func `claims are accepted up to the leeway`() async throws {
        let mint = try Mint()
        let tokens = try mint.authenticator()
        let payloads = [
            Mint.payload(exp: "\(Mint.now - 29)"), Mint.payload(exp: "253402300799"),
            Mint.payload(more: #""nbf":\#(Mint.now + 30),"iat":\#(Mint.now + 30),"#),
            Mint.payload(aud: #"["elsewhere","other"]"#),
            // RFC 7519 §2: a NumericDate may have a fraction.
            Mint.payload(exp: "\(Mint.now - 29).5"), Mint.payload(exp: "2e9"),
            Mint.payload(more: #""nbf":\#(Mint.now + 29).5,"iat":\#(Mint.now).123456,"#),
            Mint.payload(more: #""unknown":{"a":[1.5e3,null]},"#),
        ]
        for payload in payloads {
            let token = try mint.token(Mint.header, payload)
            #expect(try await tokens.authenticate(bearer: token).subject == "ada", "\(payload)")
        }
    }

    @Test func `iss, aud and kid are compared byte by byte`() async throws {
        let mint = try Mint()
        // Swift's `String` compares them as equal.
        let (one, other) = ("\u{E9}", "e\u{301}")
        #expect(one == other)
        func authenticator(_ rules: TokenRules, kid: String? = nil) throws -> JWTAuthenticator {
            let secret = try TokenKey.secret(Array(Mint.secretText.utf8), id: kid)
            return try JWTAuthenticator(keys: [secret], rules: rules) { Mint.now }
        }
        let issuer = try authenticator(TokenRules(issuer: one))
        let audience = try authenticator(TokenRules(audiences: [one]))
        let key = try authenticator(TokenRules(), kid: one)
        for (name, isAccepted) in [(one, true), (other, false)] {
            let text = "\"\(name)\""
            let tokens = [
                (issuer, try mint.token(#"{"alg":"HS256"}"#, Mint.payload(iss: text, aud: nil))),
                (audience, try mint.token(#"{"alg":"HS256"}"#, Mint.payload(aud: text))),
                (
                    key,
                    try mint.token(
                        #"{"alg":"HS256","kid":\#(text)}"#, Mint.payload(aud: nil))
                ),
            ]
            for (index, (tokens, token)) in tokens.enumerated() {
                let principal = try? await tokens.authenticate(bearer: token)
                #expect((principal != nil) == isAccepted, "\(index) \(name)")
            }
        }
    }

    @Test func `without rules any issuer is accepted, and an audience is not`() async throws {
        let mint = try Mint()
        let tokens = try mint.authenticator(rules: TokenRules())
        _ = try await tokens.authenticate(
            bearer: try mint.token(Mint.header, Mint.payload(iss: nil, aud: nil)))
        await #expect(throws: AuthenticationFailure.self) {
            try await tokens.authenticate(bearer: try mint.token())
        }
    }

    @Test func `the leeway is bounded`() {
        #expect(TokenRules(leewaySeconds: -1).leewaySeconds == 0)
        #expect(TokenRules(leewaySeconds: .max).leewaySeconds == 300)
    }

    @Test func `all members of the grants are read`() async throws {
        let mint = try Mint()
        let tokens = try mint.authenticator()
        let claim = """
            {"actions":["say"],"pulses":["message"],"reactors":["chat"],"sessions":["*"],\
            "own":true,"verbs":["create","act","read","log","delete","admin"]}
            """
        let token = try mint.token(Mint.header, Mint.payload(grants: claim))
        let grants = try await tokens.authenticate(bearer: token).grants
        #expect(
            grants
                == Grants(
                    verbs: Set(Grants.Verb.allCases), sessions: [.prefix("")], ownSessions: true,
                    reactors: ["chat"], pulses: ["message"], actions: ["say"]))
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 31, 32, 255])
    func `base64url is read as it is written`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) }
        #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
    }
}
