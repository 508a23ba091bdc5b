import Storage
import Testing
import Wire

@testable import ReactorHosting

@Suite("A client is the same at both ends of a link", .timeLimit(.minutes(60)))
struct LinkAccessTests {
    @Test(arguments: [
        Grants.all, Grants(verbs: [], sessions: []),
        Grants(
            verbs: [.act, .log], sessions: [.id("a"), .prefix("b-"), .prefix("")],
            ownSessions: true,
            reactors: ["r", "s"], pulses: [], actions: ["x"]),
    ])
    func `the grants arrive as they were verified`(grants: Grants) throws {
        let principal = Principal(subject: "ada", grants: grants, expiresAtSeconds: 9_000)
        let sent = LinkAccess(Access("token", principal, at: 0))
        var bytes: [UInt8] = []
        LinkRequest(waitMilliseconds: 0, access: sent, head: [], body: []).append(
            stream: 1, to: &bytes)
        var (reader, offset) = (LinkReader(payloadLimitBytes: 1_000), 0)
        let frame = try #require(try reader.next(bytes.span, at: &offset))
        let received = try #require(try LinkRequest(frame).access)
        let access = try #require(Access(received, at: 0))
        #expect(access.principal == principal)
        #expect(access.token.isEmpty)
    }

    @Test(arguments: [nil, "ada"] as [String?])
    func `a program is also one at the other node, and acts with or without a client`(
        subject: String?
    ) throws {
        let sent = Access(program: subject, reactors: ["r"])
        let access = try #require(Access(LinkAccess(sent), at: 0))
        #expect(access.isProgram)
        #expect(access.subject?.text == subject)
        #expect(access.grants == sent.grants)
        let client = Principal(subject: "", grants: .all, expiresAtSeconds: 9_000)
        #expect(Access(LinkAccess(Access("", client, at: 0)), at: 0)?.isProgram == false)
    }

    @Test func `each verb has a bit of its own`() {
        let bits = Grants.Verb.allCases.map { verb in
            let grants = Grants(verbs: [verb], sessions: [])
            return LinkAccess(
                Access("", Principal(subject: "a", grants: grants, expiresAtSeconds: 1), at: 0)
            ).verbs
        }
        #expect(Set(bits).count == Grants.Verb.allCases.count)
        #expect(bits.allSatisfy { $0.nonzeroBitCount == 1 })
    }

    /// Only a program's own authenticator makes them, perhaps of names that its clients choose.
    @Test(
        arguments: [
            .id("*"), .id("a*"), .id(""), .id("a/b"), .prefix("*"), .prefix("a b"), .id("\u{212A}"),
        ] as [Grants.SessionPattern])
    func `a pattern that no id matches is none at the other end`(
        pattern: Grants.SessionPattern
    ) throws {
        let grants = Grants(verbs: [.read], sessions: [.id("a"), pattern], ownSessions: true)
        let principal = Principal(subject: "ada", grants: grants, expiresAtSeconds: 9_000)
        let sent = LinkAccess(Access("token", principal, at: 0))
        #expect(sent.sessions == ["a"])
        #expect(Access(sent, at: 0)?.grants.sessions == [.id("a")])
    }

    @Test func `a malformed pattern of sessions is no client`() {
        let access = LinkAccess(
            subject: "a", expiresAt: 1, verbs: 1, sessions: ["a b"], ownSessions: false,
            reactors: nil, pulses: nil, actions: nil)
        #expect(Access(access, at: 0) == nil)
    }
}
