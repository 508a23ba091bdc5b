internal import JSONCoding

// A JSON Web Key Set (RFC 7517 §5).
extension TokenKey {
    /// The maximum number of keys: a token without `kid` is tried with each of its algorithm.
    static let maximumKeys = 64

    /// The public keys of a set that this server can use.
    ///
    /// Keys for encryption, and keys of other types, curves and algorithms are ignored (RFC 7517
    /// §5). Each `alg` must be that of the key's type.
    ///
    /// - Parameter json: `{"keys":[…]}` of at most 64 keys.
    /// - Throws: ``TokenKeyFailure`` if a key is malformed or secret, two have one `kid`, or
    ///   none can be used.
    public static func set(json: [UInt8]) throws(TokenKeyFailure) -> [TokenKey] {
        let document: JSONValue
        do {
            document = try JSON.decode(JSONValue.self, from: json)
        } catch {
            throw TokenKeyFailure("the JWKS file is not JSON: \(error)")
        }
        guard case .array(let members)? = document["keys"] else {
            throw TokenKeyFailure("the JWKS file has no array \"keys\"")
        }
        guard members.count <= maximumKeys else {
            throw TokenKeyFailure("the JWKS file has \(members.count) keys; 64 is the limit")
        }
        var keys: [TokenKey] = []
        for (index, member) in members.enumerated() {
            guard let key = try key(member, "key \(index) of the JWKS file") else { continue }
            if let id = key.id, keys.contains(where: { $0.id?.utf8.elementsEqual(id.utf8) == true })
            {
                throw TokenKeyFailure("two keys of the JWKS file have the kid \"\(id)\"")
            }
            keys.append(key)
        }
        guard !keys.isEmpty else {
            throw TokenKeyFailure(
                "the JWKS file has no key for RS256, ES256 (P-256) or EdDSA (Ed25519)")
        }
        return keys
    }

    private static func key(
        _ key: JSONValue, _ place: String
    ) throws(TokenKeyFailure) -> TokenKey? {
        guard case .object(let members) = key, let type = key["kty"]?.string else {
            throw TokenKeyFailure("\(place) is not an object with \"kty\"")
        }
        // "k" is a secret, "d" the private part.
        for member in members where ["k", "d", "p", "q"].contains(member.key) {
            throw TokenKeyFailure("\(place) is secret; the file must contain public keys only")
        }
        if let use = key["use"], use != "sig" { return nil }
        let id = try optionalText("kid", of: key, place)
        let algorithm = try optionalText("alg", of: key, place)
        let make: () throws(TokenKeyFailure) -> SignatureVerifier
        switch (type, key["crv"]?.string, algorithm) {
        case ("RSA", _, nil), ("RSA", _, "RS256"):
            let (n, e) = try (text("n", of: key, place), text("e", of: key, place))
            make = { () throws(TokenKeyFailure) in try .rsa(modulus: n, exponent: e) }
        case ("EC", "P-256", nil), ("EC", "P-256", "ES256"):
            let (x, y) = try (text("x", of: key, place), text("y", of: key, place))
            make = { () throws(TokenKeyFailure) in try .p256(x: x, y: y) }
        case ("OKP", "Ed25519", nil), ("OKP", "Ed25519", "EdDSA"):
            let x = try text("x", of: key, place)
            make = { () throws(TokenKeyFailure) in try .ed25519(x: x) }
        default: return nil
        }
        do throws(TokenKeyFailure) {
            return TokenKey(id: id, try make())
        } catch {
            throw TokenKeyFailure("\(place) is not a valid key: \(error)")
        }
    }

    private static func optionalText(
        _ name: String, of key: JSONValue, _ place: String
    ) throws(TokenKeyFailure) -> String? {
        guard key[name] != nil else { return nil }
        return try text(name, of: key, place)
    }

    private static func text(
        _ name: String, of key: JSONValue, _ place: String
    ) throws(TokenKeyFailure) -> String {
        guard let text = key[name]?.string else {
            throw TokenKeyFailure("\(place) has no string \"\(name)\"")
        }
        return text
    }
}

extension JSONValue {
    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }
}
