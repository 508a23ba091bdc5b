import Testing

@testable import ReactorHosting
@testable import ReactorTokens

/// Makes tokens from any bytes, as no correct issuer would.
struct Mint: Sendable {
    static let now: Int64 = 1_700_000_000
    static let secretText = "0123456789abcdef0123456789abcdef"

    let secret = SigningKey.hmac(Array(secretText.utf8))
    let rsa: SigningKey
    let p256: SigningKey
    let ed: SigningKey
    /// Keys that are not configured: of P-256, of another curve, and an HMAC by the text of the RSA
    /// public key.
    let stranger: SigningKey
    let p384: SigningKey
    let confused: SigningKey

    var rsaPEM: String { rsa.publicPEM }
    var p256PEM: String { p256.publicPEM }
    var edPEM: String { ed.publicPEM }

    init() throws {
        rsa = try SigningKey(pem: Self.rsaPrivatePEM)
        p256 = try SigningKey("EC", curve: "P-256")
        ed = try SigningKey("ED25519")
        stranger = try SigningKey("EC", curve: "P-256")
        p384 = try SigningKey("EC", curve: "P-384")
        confused = .hmac(Array(rsa.publicPEM.utf8))
    }

    static let header = #"{"alg":"HS256","typ":"JWT","kid":"h"}"#
    static let valid = payload()

    /// The payload of a token that is accepted.
    ///
    /// - Parameters:
    ///   - exp: The value of `exp` as JSON; nil to leave it out.
    ///   - more: Further members, before the others.
    static func payload(
        exp: String? = "\(now + 60)", more: String = "", iss: String? = #""issuer""#,
        aud: String? = #""server""#, sub: String? = #""ada""#, grants: String? = grants
    ) -> String {
        let members = [
            exp.map { #""exp":\#($0)"# }, iss.map { #""iss":\#($0)"# },
            aud.map { #""aud":\#($0)"# }, sub.map { #""sub":\#($0)"# },
            grants.map { #""reactor":\#($0)"# },
        ]
        return "{" + more + members.compactMap(\.self).joined(separator: ",") + "}"
    }

    static let grants = #"{"verbs":["act","read"],"sessions":["table-*","one"]}"#

    /// Signs with any key, whatever the header says.
    func token(
        _ header: String = header, _ payload: String = valid, by key: SigningKey? = nil
    ) throws -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        let signature = try (key ?? secret).sign(Array(signed.utf8))
        return signed + "." + Base64URL.encode(signature)
    }

    /// All four keys, each with a name.
    func authenticator(
        rules: TokenRules = TokenRules(issuer: "issuer", audiences: ["server", "other"]),
        now: Int64 = Mint.now
    ) throws -> JWTAuthenticator {
        try JWTAuthenticator(
            keys: [
                try .secret(Array(Self.secretText.utf8), id: "h"),
                try .pem(rsaPEM, id: "r"), try .pem(p256PEM, id: "e"),
                try .pem(edPEM, id: "d"),
            ], rules: rules
        ) { now }
    }

    /// Used in these tests only.
    static let rsaPrivatePEM = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCnOpXnGJOgbeGv
        vPyGkGAeLPjwW4JRCZpwzYzY1M97BrqK70N+EsaBfdFoEt95Pl6Ndehj4aomfOTh
        sRLIJu5yaF76UEZQ7LDzulHBkmD35vzf0diE2v5A3yv1YOSKJP2NmehOULSpOQ1f
        c3gr/XVwp3aL8xJaouX1aj2PfSCAbtUx9WBxfvcuGEA3/DHM80uBqOGrzBj4/DnG
        omwYqYAI8i4K38PWAMKr0p56GmyXl7f/49faHuv4xPrhi9f4wl+x/mE79eHFflbW
        7us9RF2/QimkueOM7ENtdwNo4zG4ffB3ynI/BP5nbG9lqwYuyinNFwHDZsRmGvID
        iZ+63ryPAgMBAAECggEANs/8HGAw2y/I/po6Rz0BVEK3YckMwNUd+wVUuimezBtb
        f3iHLcanq//6aFtvRkVMJp/UCREJfU4Ik3U/y7z/AR72qqMvOQ0rvud+Lq10/SyI
        DDCzAHDrT4YW2XnlzuXq+cPNogXQAXuCx5uIcxrDqKYrNBn7FRw5taQaA3Mm+RFT
        N6pxXxlU4syZ2QUhhIg8b25RMwBMRta7iWBgE8JGCbXnSOYFkhIn9s82tvQLmRnc
        h5Q8yTzzvBe7YeHsEpmOVYStS8fA0iwC13JrQc9MamH+3aotrzA1y5oA/Px8PWcy
        +qhkIkYUIaHdTDZ1I2FqasCTJfXJiDZK9NobGd24aQKBgQDV3pUOXl95FLE8TCV4
        1fJ8brktGwvyzNZKt4AMFyhzHjLvEHlGw+0ab8irphylgQNeKTOL/NY6rWxftJ7J
        TbeU0lROz6U+ihS7/F3mw9+zM2KtF3onKpNCPwFabyY2rBBhuTpJNhoIsvmt7u5i
        lOOV2BAXuPnyUBVM3gEIoviZMwKBgQDIK+vi15Yw7oqOup6k7HJ6fMplYbfZ6SLL
        iB8zFlHfGCdJMZxKX1dcMHb/2hiPygovCaB6OtDQjaxkeo2TIw5PFey0eNDc488V
        EwRAW2DZk6BbRSvdf6FYFhEd7yBANQmf7l8rfmwCeNM0d4Oxal34T/5SqHzeH2pG
        SBHbTC7nNQKBgQCQqETZuyuIkl5vEnImEVA6qgnGYIzsZXBsiUGq698IPlzlJpdh
        LhSp1QI+V9T4fRLyFZwwC4w7lCHBekIMluydVMaBqCF086Cipkg9Vi9w3kjYGxEc
        fMet/z/DE3sdb7SE5OxvqJBjYetPolTLiTmGmOYJpawqIdDGdULtvI250QKBgFOi
        Nj5jAPeU0wNraZlSyUnwFchiGaTMSaNsTkzUCIUD3HYyajCQwTldbnrbruN08OhS
        R2CKbnCUoPCiW8CcJwBYErwctnd0HzOY7G/PPhnqGlfIANnc15asMZ6mKH1rK4hM
        2iqb+ZjWzrffL4DTBkwXcBUtHG7aBVc0CXHs1LP5AoGAFqRpWq7StdXek7Fzus1B
        UTfTSGSuhUJzgxaYgj9tJa4vu25yXyAz1SQHRcolotKD2F1Maip24QftxaAaygSu
        darOnL2Qbv6P5zhB6dY0fr0/FDuiBtU05+lJnHZtKJccG/btQHhNCFX1YLk/Xb9P
        2jCXb/d64dc3SgEvHpzh2wY=
        -----END PRIVATE KEY-----

        """
}
