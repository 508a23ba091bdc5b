import Testing

@testable import ReactorHosting

@Suite("Verified tokens are kept for a while", .timeLimit(.minutes(60)))
struct VerifiedTokensTests {
    private func access(_ token: String, expires: Int64 = 1_000, at now: Int64 = 0) -> Access {
        Access(
            token, Principal(subject: token, grants: .all, expiresAtSeconds: expires), at: now)
    }

    private func find(_ token: String, in tokens: VerifiedTokens, at now: Int64 = 0) -> String? {
        tokens.find(Array(token.utf8)[...], at: now)?.principal.subject
    }

    @Test func `a token is found by all of its bytes`() {
        var tokens = VerifiedTokens(limit: 10)
        let end = String(repeating: "s", count: 40)
        tokens.insert(access("a" + end), at: 0)
        #expect(find("a" + end, in: tokens) == "a" + end)
        // The same last 32 bytes.
        #expect(find("b" + end, in: tokens) == nil)
        #expect(find(end, in: tokens) == nil)
        #expect(find("", in: tokens) == nil)
        // A part of a larger array.
        let head = Array("Bearer a\(end) more".utf8)
        #expect(tokens.find(head[7..<48], at: 0)?.principal.subject == "a" + end)
    }

    @Test func `it is verified again after a minute, and never used after its end`() {
        var tokens = VerifiedTokens(limit: 10)
        tokens.insert(access("long"), at: 0)
        #expect(find("long", in: tokens, at: 59_999) != nil)
        #expect(find("long", in: tokens, at: 60_000) == nil)
        tokens.insert(access("short", expires: 10), at: 0)
        #expect(find("short", in: tokens, at: 9_999) != nil)
        #expect(find("short", in: tokens, at: 10_000) == nil)
        for end in [Int64.min, -1, 0] {
            #expect(access("past", expires: end).expiresAtMilliseconds == 0)
        }
        #expect(access("far", expires: .max).verifyAgainAtMilliseconds == 60_000)
    }

    @Test func `the limit holds, and expired tokens make room first`() {
        var tokens = VerifiedTokens(limit: 3)
        for token in ["a", "b", "c", "d"] { tokens.insert(access(token), at: 0) }
        #expect(tokens.count == 3)
        #expect(find("d", in: tokens) != nil)
        tokens.insert(access("e", at: 70_000), at: 70_000)
        #expect(tokens.count == 1)
        tokens.insert(access("e", at: 80_000), at: 80_000)
        #expect(tokens.count == 1)
        #expect(find("e", in: tokens, at: 135_000) != nil)
    }
}
