import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite(
    "ADR-0072 — keys that their clients will not use again give way",
    .timeLimit(.minutes(60)))
struct DoneKeyTests {
    private func refusal(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return false
        } catch ActionRefusal.tooManyKeys {
            return true
        }
    }

    @Test func `a client that says so can send as many as it likes`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for number in 0..<11_000 {
            let done = number == 0 ? [] : ["k\(number - 1)"]
            let token = try rig.post(Post.set(1), to: session, key: "k\(number)", done: done)
            rig.endRound()
            #expect(rig.line(token).hasPrefix("received"))
        }
        // A copy of one of the newest is still recognised.
        let copy = try rig.post(Post.set(1), to: session, key: "k10500")
        rig.endRound()
        #expect(rig.line(copy).hasPrefix("replayed"))
        // An old one is not: its client has promised not to use it.
        let old = try rig.post(Post.set(1), to: session, key: "k0")
        rig.endRound()
        #expect(rig.line(old).hasPrefix("received"))
    }

    @Test func `without a word each key is kept, and one too many is refused`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for number in 0..<10_000 {
            try rig.post(Post.set(1), to: session, key: "k\(number)")
            rig.endRound()
        }
        let isFull = try refusal { try rig.post(Post.set(1), to: session, key: "more") }
        #expect(isFull)
        let first = try rig.post(Post.set(1), to: session, key: "k0")
        rig.endRound()
        #expect(rig.line(first).hasPrefix("replayed"))
        // A released key makes room for a new one.
        let next = try rig.post(Post.set(1), to: session, key: "more", done: ["k1", "k1", "none"])
        rig.endRound()
        #expect(rig.line(next).hasPrefix("received"))
        let isFullAgain = try refusal { try rig.post(Post.set(1), to: session, key: "third") }
        #expect(isFullAgain)
    }

    @Test func `long keys are bounded by their bytes`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let rest = String(repeating: "k", count: 245)
        var count = 0
        while try !refusal({ try rig.post(Post.set(1), to: session, key: "\(count)-" + rest) }) {
            rig.endRound()
            count += 1
            if count == 10_000 { break }
        }
        #expect((4_000..<8_000).contains(count))
    }

    @Test func `nobody releases the key of another`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for number in 0..<10_000 {
            try rig.post(Post.set(1), to: session, key: "k\(number)", by: "ada")
            rig.endRound()
        }
        let isFull = try refusal {
            try rig.post(Post.set(1), to: session, key: "x", done: ["k0"], by: "eve")
        }
        #expect(isFull)
        let token = try rig.post(Post.set(1), to: session, key: "x", done: ["k0"], by: "ada")
        rig.endRound()
        #expect(rig.line(token).hasPrefix("received"))
    }

    @Test func `a request that is carried out is not released`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let first = try rig.post(Post.set(1), to: session, key: "k")
        try rig.post(Post.set(2), to: session, key: "l", done: ["k"])
        let second = try rig.post(Post.set(1), to: session, key: "k")
        #expect(rig.line(second).hasPrefix("keyRunning"))
        rig.settleAll()
        #expect(rig.line(first) == "received v1 n1")
    }

    @Test func `a journal that stores answers has no limit of keys`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        for number in 0..<1_100 {
            try rig.post(Post.set(1), to: session, key: "k\(number)", done: ["k\(number)"])
            // From the thousandth on the key is looked up in the journal.
            rig.drainInbox()
            rig.endRound()
        }
        let newest = try rig.post(Post.set(1), to: session, key: "k1099")
        rig.drainInbox()
        rig.endRound()
        #expect(rig.line(newest).hasPrefix("replayed"))
    }

    @Test func `after a day keys give way by themselves`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for number in 0..<100 {
            try rig.post(Post.set(1), to: session, key: "k\(number)")
            rig.endRound()
        }
        rig.clock.milliseconds += 86_400_001
        try rig.post(Post.set(1), to: session, key: "next")
        rig.endRound()
        let again = try rig.post(Post.set(1), to: session, key: "k0")
        rig.endRound()
        #expect(rig.line(again).hasPrefix("received"))
    }
}
