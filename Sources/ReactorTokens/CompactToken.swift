internal import JSONCoding
internal import ReactorHosting

/// A token in its compact form (RFC 7515 §7.1), taken apart and not yet verified.
struct CompactToken {
    /// `alg`, by its exact name.
    let algorithm: TokenKey.Algorithm
    /// `kid`. It selects among configured keys by equality, and is never used for anything else.
    let keyID: String?
    let signed: ArraySlice<UInt8>
    let signature: [UInt8]
    private let payload: [UInt8]

    /// - Throws: ``AuthenticationFailure/invalid(_:)`` for anything but a JWS of three parts with a
    ///   supported algorithm. No reason contains a part of the token.
    init(_ text: String) throws(AuthenticationFailure) {
        let bytes = Array(text.utf8)
        guard bytes.count <= TokenRules.tokenLimitBytes else {
            throw .invalid("the token has more than \(TokenRules.tokenLimitBytes) bytes")
        }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw .invalid("the token has \(parts.count) parts, a JWS has 3")
        }
        guard let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .invalid("a part of the token is not base64url without padding") }
        guard !signature.isEmpty else { throw .invalid("the token has no signature") }
        let fields = try Self.object(header, "the token's header")
        try Self.refuseTricks(fields)
        guard let name = fields["alg"]?.string,
            let algorithm = TokenKey.Algorithm(rawValue: name)
        else { throw .invalid("the token's alg is not HS256, RS256, ES256 or EdDSA") }
        self.algorithm = algorithm
        keyID = try Self.keyID(fields)
        signed = bytes[..<parts[1].endIndex]
        self.signature = signature
        self.payload = payload
    }

    /// The claims. To be used after the signature is verified.
    func claims() throws(AuthenticationFailure) -> JSONValue {
        try Self.object(payload, "the token's payload")
    }

    /// Strict JSON: a member that occurs twice is refused (RFC 7519 §4), 128 levels at most.
    private static func object(
        _ bytes: [UInt8], _ what: String
    ) throws(AuthenticationFailure) -> JSONValue {
        do {
            let value = try JSON.decode(JSONValue.self, from: bytes)
            if case .object = value { return value }
        } catch {
            throw .invalid("\(what) is not JSON: \(error)")
        }
        throw .invalid("\(what) is not a JSON object")
    }

    /// Refuses headers that change the meaning or bring a key (RFC 8725 §3.10, RFC 7515 §4.1.11).
    private static func refuseTricks(_ header: JSONValue) throws(AuthenticationFailure) {
        for name in ["crit", "b64", "jku", "jwk", "x5u", "x5c", "enc", "zip", "cty"]
        where header[name] != nil {
            throw .invalid("the token's header has \"\(name)\", which is refused")
        }
        guard let type = header["typ"] else { return }
        guard let text = type.string?.lowercased(),
            ["jwt", "application/jwt", "at+jwt", "application/at+jwt"].contains(text)
        else { throw .invalid("the token's typ is not JWT or at+jwt") }
    }

    private static func keyID(_ header: JSONValue) throws(AuthenticationFailure) -> String? {
        guard let member = header["kid"] else { return nil }
        guard let id = member.string, id.utf8.count <= 256 else {
            throw .invalid("the token's kid is not a string of at most 256 bytes")
        }
        return id
    }
}
