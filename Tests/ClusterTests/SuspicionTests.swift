import Testing

@testable import Cluster

@Suite("Which node is late, by clocks that are arguments", .timeLimit(.minutes(60)))
struct SuspicionTests {
    private let start = ContinuousClock.now
    private let a = Node(number: 1)
    private let b = Node(number: 2)

    private func time(_ milliseconds: Int) -> Lease.Time { start + .milliseconds(milliseconds) }

    private enum Event {
        case sent(Int), heard, refused, observed(Int)
    }

    // MARK: Lease

    @Test func `a lease is held from the sending of the last beat that was answered`() {
        var lease = Lease(.seconds(4))
        #expect(!lease.isHeld(at: time(0)))
        #expect(lease.end == nil)
        lease.renew(sentAt: time(0))
        #expect(lease.isHeld(at: time(3_999)))
        #expect(!lease.isHeld(at: time(4_000)))
        lease.renew(sentAt: time(3_000))
        // An older answer that comes late changes nothing.
        lease.renew(sentAt: time(1_000))
        #expect(lease.isHeld(at: time(6_999)))
        #expect(!lease.isHeld(at: time(7_000)))
    }

    // MARK: Silence

    @Test func `a silence is fresh for a second`() {
        var suspicion = Suspicion()
        #expect(!suspicion.isFreshlySilent(a, at: time(0)))
        suspicion.fellSilent(a, at: time(2_000))
        #expect(suspicion.isFreshlySilent(a, at: time(2_000)))
        #expect(suspicion.isFreshlySilent(a, at: time(2_999)))
        #expect(!suspicion.isFreshlySilent(a, at: time(3_000)), "nobody has asked since")
        #expect(!suspicion.isFreshlySilent(b, at: time(2_000)))
        suspicion.heard(from: a)
        #expect(!suspicion.isFreshlySilent(a, at: time(2_001)))
        suspicion.fellSilent(a, at: time(4_000))
        suspicion.asked(a)
        #expect(!suspicion.isFreshlySilent(a, at: time(4_001)), "a link is begun")
        suspicion.refused(by: a)
        #expect(!suspicion.isFreshlySilent(a, at: time(4_002)), "the next link is refused at once")
    }

    @Test func `a silence that this process has slept through is not fresh`() {
        var suspicion = Suspicion()
        suspicion.observe(at: time(0))
        suspicion.fellSilent(a, at: time(100))
        suspicion.observe(at: time(900))
        #expect(!suspicion.isFreshlySilent(a, at: time(901)))
    }

    @Test(
        arguments: [
            ("nothing was sent", [], 9_000, false),
            ("a question is answered", [.sent(0), .heard], 9_000, false),
            ("a question waits", [.sent(0)], 999, false),
            ("a question waits for a second", [.sent(0)], 1_000, true),
            ("the first question counts", [.sent(0), .sent(900)], 1_000, true),
            (
                "an answer ends the silence", [.sent(0), .sent(900), .heard, .sent(950)], 1_900,
                false
            ),
            ("refused", [.refused], 0, true),
            ("refused, and then another question", [.refused, .sent(10)], 20, true),
            ("refused, and then heard", [.refused, .heard], 20, false),
            (
                "observed all the time",
                [.observed(0), .sent(0), .observed(250), .observed(500), .observed(750)], 1_000,
                true
            ),
            ("paused itself", [.observed(0), .sent(100), .observed(5_000)], 5_001, false),
            (
                "silent after its own pause", [.observed(0), .sent(100), .observed(5_000)], 6_000,
                true
            ),
            (
                "refused before its own pause", [.observed(0), .refused, .observed(5_000)], 5_001,
                true
            ),
        ] as [(String, [Event], Int, Bool)])
    private func `a node is gone after a refusal or a second of silence`(
        _ name: String, _ events: [Event], _ now: Int, _ isGone: Bool
    ) {
        var suspicion = Suspicion()
        for event in events {
            switch event {
            case .sent(let when): suspicion.sent(to: a, at: time(when))
            case .heard: suspicion.heard(from: a)
            case .refused: suspicion.refused(by: a)
            case .observed(let when): suspicion.observe(at: time(when))
            }
        }
        #expect(suspicion.isGone(a, at: time(now)) == isGone, "\(name)")
        #expect(suspicion.mayDepose(a, of: "s", at: time(now)) == isGone, "\(name)")
        #expect(!suspicion.isGone(b, at: time(now)))
    }

    @Test func `a node that is no member is forgotten`() {
        var suspicion = Suspicion()
        suspicion.refused(by: a)
        suspicion.refused(by: b)
        let own = Member(node: Node(number: 9), address: "", loops: 1)
        suspicion.keep(
            Members(own: own, others: [Member(node: b, address: "", loops: 1)]))
        #expect(!suspicion.isGone(a, at: start))
        #expect(suspicion.isGone(b, at: start))
    }

    @Test func `a node whose link was silent is gone until it is heard`() {
        var suspicion = Suspicion()
        suspicion.fellSilent(a, at: time(0))
        #expect(suspicion.isGone(a, at: time(0)))
        suspicion.heard(from: a)
        #expect(!suspicion.isGone(a, at: time(5_000)))
    }

    // Without the rule, a lookup that is slow deposes a node that was silent once.
    @Test func `the evidence of an earlier link is no evidence`() {
        var suspicion = Suspicion()
        suspicion.fellSilent(a, at: time(0))
        suspicion.refused(by: b)
        suspicion.asked(a)
        #expect(!suspicion.mayDepose(a, of: "s", at: time(5_000)))
        #expect(suspicion.mayDepose(b, of: "s", at: time(5_000)))
        suspicion.fellSilent(a, at: time(6_000))
        #expect(suspicion.mayDepose(a, of: "s", at: time(6_000)))
    }

    // MARK: Force

    @Test func `a session that was taken by force is left alone for a second`() {
        var suspicion = Suspicion()
        suspicion.refused(by: a)
        suspicion.took("s", at: time(0))
        #expect(!suspicion.mayDepose(a, of: "s", at: time(999)))
        #expect(suspicion.mayDepose(a, of: "t", at: time(0)))
        #expect(suspicion.mayDepose(a, of: "s", at: time(1_000)))
        #expect(!suspicion.mayDepose(b, of: "s", at: time(1_000)))
    }

    @Test func `what is remembered of takings is bounded`() {
        var suspicion = Suspicion()
        suspicion.refused(by: a)
        for index in 0...Suspicion.takenLimit { suspicion.took("s\(index)", at: time(0)) }
        #expect(!suspicion.mayDepose(a, of: "s0", at: time(1)))
        #expect(suspicion.mayDepose(a, of: "s\(Suspicion.takenLimit)", at: time(1)))
        suspicion.took("t", at: time(1_000))
        #expect(!suspicion.mayDepose(a, of: "t", at: time(1_500)))
    }
}
