import Feeds
import JSONCoding
import Reactors
import Storage
import Synchronization
import Testing

@testable import Sessions

@Suite("Sessions — the input with which a session was created", .timeLimit(.minutes(60)))
struct SessionInputTests {
    struct Start: Codable, Sendable, Equatable {
        var amount: Int
        var name: String?
    }

    private static func account(
        _ made: MadeOf? = nil, _ examples: [Start] = []
    ) throws -> Registration {
        try Registration(
            name: "ledger", activities: ["said"], examples: [], clock: ContinuousClock(),
            make: SessionMaker("ledger", input: Start.self, examples: examples) {
                made?.record($0, $1, $2)
                return Ledger()
            })
    }

    /// The calls of the closure.
    final class MadeOf: Sendable {
        private let calls = Mutex<[String]>([])
        var all: [String] { calls.withLock { $0 } }

        func record(_ id: String, _ owner: String?, _ start: Start) {
            calls.withLock { $0.append("\(id) \(owner ?? "-") \(start.amount)") }
        }
    }

    private func create(_ id: String, _ registration: Registration, _ rig: Rig) throws -> Session {
        let creation = SessionCreation(owner: "ada", input: Array(#"{"amount":7}"#.utf8))
        let name = try #require(SessionID(id))
        try rig.table.create(name, registration, for: rig.nextToken(), with: creation)
        rig.endRound()
        return try rig.session(id)
    }

    @Test func `is given to the reactor when it is created, woken, copied and rebuilt`() throws {
        let made = MadeOf()
        let registration = try Self.account(made)
        #expect(made.all == ["example - 1"])
        let rig = Rig(answers: true)
        let session = try create("s", registration, rig)
        for number in 1...3 { try rig.act(Post.set(number), on: session) }
        #expect(made.all.dropFirst() == ["s ada 7"])
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [registration])
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(woken.feed.creation.input == Array(#"{"amount":7}"#.utf8))
        #expect(made.all.dropFirst(2) == ["s ada 7"])
        let saved = try #require(rig.journal.loaded("s"))
        #expect(throws: Never.self) { try registration.rehearse(saved) }
        #expect(throws: Never.self) {
            _ = try registration.events.makeFold("s", saved.creation, nil)
        }
        #expect(made.all.count == 5)
        #expect(Set(made.all.dropFirst()) == ["s ada 7"])
    }

    @Test func `is given to a Cycler, even to one that replaces another`() throws {
        let made = MadeOf()
        let held = HeldEffects()
        let registration = try Registration(
            name: "clerk", activities: ["said"], examples: [],
            makeCycler: SessionMaker("clerk", input: Start.self, examples: []) {
                made.record($0, $1, $2)
                return Clerk(heldEffects: held)
            })
        let rig = Rig(answers: true)
        _ = try create("s", registration, rig)
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [registration])
        guard case .session = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(made.all == ["example - 1", "s ada 7", "s ada 7"])
    }

    @Test func `quarantines the session if it no longer decodes`() throws {
        let rig = Rig(answers: true)
        _ = try create("s", try Self.account(), rig)
        rig.table.stop()
        struct Later: Codable, Sendable { var amount: String }
        let later = try Registration(
            name: "ledger", activities: ["said"], examples: [], clock: ContinuousClock(),
            make: SessionMaker("ledger", input: Later.self, examples: []) { _, _, _ in Ledger() })
        let next = Rig(journal: rig.journal, registrations: [later])
        guard case .quarantined(let fault) = try next.wake("s") else {
            throw Rig.NoSession(id: "s")
        }
        #expect(fault.place == "the input")
        #expect(fault.reason.contains("today's Later cannot be decoded from it"))
        #expect(fault.reason.contains("/amount"))
        let saved = try #require(rig.journal.loaded("s"))
        #expect(throws: fault) { try later.rehearse(saved) }
    }

    @Test func `quarantines a session without an input if the reactor needs one now`() throws {
        let rig = Rig(answers: true)
        try rig.create("s", .ledger())
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try Self.account()])
        guard case .quarantined(let fault) = try next.wake("s") else {
            throw Rig.NoSession(id: "s")
        }
        #expect(fault.place == "the input")
        #expect(
            fault.reason == "the session was created without one, but today's reactor needs it: "
                + "Start is not optional")
    }

    @Test func `the example is the first one that is given`() throws {
        let made = MadeOf()
        let registration = try Self.account(made, [Start(amount: 4), Start(amount: 5)])
        #expect(made.all == ["example - 4"])
        #expect(
            registration.input?.examples.map { String(decoding: $0, as: UTF8.self) }
                == [#"{"amount":4}"#, #"{"amount":5}"#])
    }

    @Test func `a type that is not known well enough needs an example`() throws {
        /// Accepts only even numbers.
        struct Even: Codable, Sendable {
            let number: Int

            init(number: Int) { self.number = number }

            init(from decoder: any Decoder) throws {
                number = try decoder.singleValueContainer().decode(Int.self)
                guard number.isMultiple(of: 2) else { throw Odd() }
            }

            struct Odd: Error {}

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(number)
            }
        }
        let failure = #expect(throws: RegistrationFailure.self) {
            _ = try SessionMaker("even", input: Even.self, examples: []) { _, _, _ in Ledger() }
        }
        #expect(failure?.description.contains("inputExamples: [Even(…)]") == true)
        _ = try SessionMaker("even", input: Even.self, examples: [Even(number: 2)]) { _, _, _ in
            Ledger()
        }
    }

    @Test func `is checked before the session exists`() throws {
        let registration = try Self.account()
        let check = { (input: String?) -> InputRefusal? in
            do throws(InputRefusal) {
                try registration.check(input.map { Array($0.utf8) })
                return nil
            } catch {
                return error
            }
        }
        #expect(check(#"{"amount":1,"more":2}"#) == nil)
        #expect(check(nil) == .missing)
        guard case .json(.mismatch("/amount", _))? = check("{}") else {
            Issue.record("\(String(describing: check("{}")))")
            return
        }
        let ledger = try Registration.ledger()
        #expect(throws: InputRefusal.notTaken) { try ledger.check(Array("{}".utf8)) }
        #expect(throws: Never.self) { try ledger.check(nil) }
    }
}
