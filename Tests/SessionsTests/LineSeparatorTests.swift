import Feeds
import Sessions
import Testing

@Suite(
    "Streams — a client that knows more ends of lines divides no event", .timeLimit(.minutes(60)))
struct LineSeparatorTests {
    private static let separators = "\u{85}\u{2028}\u{2029}"

    private func rig() throws -> (Rig, Session) {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        return (rig, session)
    }

    /// Whether the bytes show the separators, each as an escape.
    private func areEscaped(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains(#"\u0085\u2028\u2029"#)
            && !text.unicodeScalars.contains { Self.separators.unicodeScalars.contains($0) }
    }

    /// A large state is not copied into its event.
    @Test(arguments: [1, 100_000])
    func `pulses, states, parts, snapshots and the log have none of them`(length: Int) throws {
        let (rig, session) = try rig()
        let streams = [.allPulses, .allStates, .log, try .part("/name")].map {
            rig.subscribe(session, $0, .now)
        }
        let joint = try #require(JointReader(["s"], .allStates).connect(rig))
        rig.drainInbox()
        let text = String(repeating: "x", count: length) + Self.separators
        try rig.act(Post.name(text), on: session)
        rig.settleAll()
        rig.drainInbox()
        for stream in streams { #expect(areEscaped(rig.output.bytes(of: stream))) }
        #expect(areEscaped(joint.bytes))
        let snapshot = rig.subscribe(session, .allStates)
        rig.drainInbox()
        #expect(areEscaped(rig.output.bytes(of: snapshot)))
        joint.lose()
    }

    @Test func `activities have none of them, also from the journal`() throws {
        let (rig, session) = try rig()
        let live = rig.subscribe(session, .allActivities, .now)
        try rig.act(Post.say(Self.separators), on: session)
        rig.settleAll()
        let late = rig.subscribe(
            session, .allActivities, .after("\(session.generation.text).0"))
        rig.settleAll()
        for stream in [live, late] { #expect(areEscaped(rig.output.bytes(of: stream))) }
    }
}
