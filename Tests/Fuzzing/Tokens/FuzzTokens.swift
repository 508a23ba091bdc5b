import FuzzSupport
import JSONCoding
import ReactorHosting

@testable import ReactorTokens

@main enum TokensTarget: FuzzTarget {}

/// Tokens: base64url has one text for the same bytes; a token that is taken apart has an algorithm
/// and no tricks; claims that are accepted hold now, and their grants are those that they name.
///
/// Two kinds of input: the text of a token, and header and claims in JSON on two lines, from which
/// the token is made. Signatures are not checked: a fuzzer would find none.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTokens(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe FuzzInput(start, count).bytes
    checkBase64(bytes)
    checkToken(String(decoding: bytes, as: UTF8.self))
    let lines = bytes.split(separator: 0x0a, maxSplits: 1, omittingEmptySubsequences: false)
    if lines.count == 2 {
        checkToken(
            "\(Base64URL.encode(lines[0])).\(Base64URL.encode(lines[1])).\(Base64URL.encode([7]))")
    }
    return 0
}

private func checkBase64(_ bytes: [UInt8]) {
    require(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes, "other bytes")
    guard let decoded = Base64URL.decode(bytes) else { return }
    require(Array(Base64URL.encode(decoded).utf8) == bytes, "a second text for the same bytes")
}

private func checkToken(_ text: String) {
    guard let token = try? CompactToken(text) else { return }
    require(text.utf8.count <= TokenRules.tokenLimitBytes, "a token that is too long")
    require(!token.signature.isEmpty, "a token without a signature")
    require(text.utf8.starts(with: token.signed), "the signature covers other bytes")
    require(text.utf8.dropFirst(token.signed.count).first == UInt8(ascii: "."), "other bytes")
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard let header = Base64URL.decode(parts[0].utf8),
        let fields = try? JSON.decode(JSONValue.self, from: header)
    else { fatalError("the header is not JSON") }
    for name in ["crit", "jwk", "jku", "x5u", "x5c", "b64"] {
        require(fields[name] == nil, "\(name) is accepted")
    }
    require(fields["alg"] == .string(token.algorithm.rawValue), "another algorithm")
    guard let claims = try? token.claims() else { return }
    for audiences in [[], ["server"]] { checkClaims(claims, audiences) }
}

private let now: Int64 = 1_700_000_000

private func checkClaims(_ claims: JSONValue, _ audiences: [String]) {
    let rules = TokenRules(audiences: audiences)
    guard let principal = try? Claims(claims, rules, now: now).principal() else { return }
    require(principal.expiresAtSeconds > now, "an expired token")
    require(claims["sub"] == .string(principal.subject), "another subject")
    require((1...255).contains(principal.subject.utf8.count), "a subject of another length")
    require((claims["aud"] == nil) == audiences.isEmpty, "another audience")
    // A later token with the same claim has the same grants.
    guard let claim = claims["reactor"],
        let again = try? Grants(claim: claim, named: "reactor"), again == principal.grants
    else { fatalError("the claim has other grants") }
    for verb in principal.grants.verbs {
        require(String(describing: claim["verbs"]).contains(verb.rawValue), "\(verb) from nothing")
    }
    for pattern in principal.grants.sessions {
        let text =
            switch pattern {
            case .id(let id): id
            case .prefix(let prefix): prefix + "*"
            }
        require(Grants.SessionPattern(text) == pattern, "the pattern \(text) is another one")
    }
}
