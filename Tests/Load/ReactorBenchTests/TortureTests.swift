import Testing

@testable import reactor_bench

@Suite("Torture detects broken promises of a server", .timeLimit(.minutes(60)))
struct TortureTests {
    /// A ledger of one session to which one poster posted these batches, all acknowledged.
    private func ledger(_ batches: [Int] = [1, 1, 3]) -> (TortureLedger, [UInt64]) {
        var ledger = TortureLedger(sessions: 1)
        var history: [UInt64] = []
        var sequence: UInt32 = 0
        for count in batches {
            let post = TorturePost(
                session: 0, poster: 0, first: sequence, count: count, hasKey: false)
            let index = ledger.enter(post)
            sequence += UInt32(count)
            history += post.actions
            ledger.acknowledged(index, at: UInt64(history.count))
        }
        return (ledger, history)
    }

    private func faults(_ ledger: TortureLedger, _ history: [UInt64]) -> Set<TortureFault> {
        var ledger = ledger
        ledger.close([history])
        return Set(ledger.counts.keys)
    }

    @Test func `an acknowledged history has no fault`() {
        let (ledger, history) = ledger()
        #expect(faults(ledger, history) == [])
    }

    @Test func `a missing acknowledged action is lost`() {
        let (ledger, history) = ledger()
        #expect(faults(ledger, Array(history.dropLast(3))).contains(.lost))
        #expect(faults(ledger, Array(history.dropFirst())).contains(.lost))
    }

    @Test func `an action that appears twice is doubled`() {
        let (ledger, history) = ledger()
        #expect(faults(ledger, history + [history[0]]).contains(.doubled))
    }

    @Test func `two exchanged actions are reordered`() {
        var (ledger, history) = ledger()
        history.swapAt(0, 1)
        #expect(faults(ledger, history).isSuperset(of: [.reordered, .lost]))
        // The first was acknowledged before the second was sent.
        ledger.ended(1, .unanswered)
        #expect(faults(ledger, history).contains(.reordered))
    }

    @Test func `an action without an outcome may be late, and not early`() {
        var (ledger, history) = ledger([1, 1, 1])
        ledger.ended(0, .unanswered)
        ledger.ended(1, .unanswered)
        #expect(faults(ledger, [history[1], history[0], history[2]]) == [])
        #expect(faults(ledger, [history[2], history[0], history[1]]) == [.lost])
        history.swapAt(1, 2)
        ledger.ended(0, .acknowledged(1))
        #expect(faults(ledger, history) == [.lost])
        history.swapAt(0, 2)
        #expect(faults(ledger, history).contains(.reordered))
    }

    @Test func `an unacknowledged batch is there whole or not at all`() {
        var (ledger, history) = ledger()
        ledger.ended(2, .unanswered)
        #expect(faults(ledger, history) == [])
        #expect(faults(ledger, Array(history.dropLast(3))) == [])
        #expect(faults(ledger, Array(history.dropLast())) == [.torn])
    }

    @Test func `an action that was refused or never posted is invented`() {
        var (ledger, history) = ledger()
        ledger.ended(1, .refused)
        #expect(faults(ledger, history) == [.invented])
        #expect(faults(ledger, history + [TorturePost.action(9, 9)]).contains(.invented))
    }

    @Test func `a shown event must be in the history`() {
        var (ledger, history) = ledger()
        ledger.shown(history[1], at: 2, of: 0)
        #expect(faults(ledger, history) == [])
        ledger.shown(history[0], at: 2, of: 0)
        #expect(faults(ledger, history).contains(.rolledBack))
    }

    @Test func `a shown record that is missing was rolled back`() {
        var (ledger, history) = ledger([1])
        ledger.shown(TorturePost.action(0, 1), at: 2, of: 0)
        #expect(faults(ledger, history).isSuperset(of: [.rolledBack, .backwards]))
    }

    @Test func `another reply to the same request is a fault`() {
        var (ledger, history) = ledger()
        ledger.acknowledged(1, at: 2)
        #expect(faults(ledger, history) == [])
        ledger.acknowledged(1, at: 3)
        #expect(faults(ledger, history).contains(.answer))
    }

    @Test func `an action comes after all that was acknowledged before it was sent`() {
        var ledger = TortureLedger(sessions: 1)
        ledger.heard(EventID(text: "abcd1234.5"), of: 0, floor: 0)
        let post = TorturePost(
            session: 0, poster: 0, first: 0, count: 2, hasKey: false, floor: ledger.version(of: 0))
        ledger.acknowledged(ledger.enter(post), at: 7)
        #expect(ledger.counts == [:])
        var next = post
        next.first = 2
        ledger.acknowledged(ledger.enter(next), at: 5)
        #expect(ledger.counts == [.backwards: 1])
    }

    @Test func `a read that says its age may be older than the last answer`() {
        var (ledger, poster) = (TortureLedger(sessions: 1), TorturePoster(number: 0, session: 0))
        var random = SeededNumbers(seed: 1)
        poster.habits = TortureHabits(creates: 0, reads: 100, repeats: 0)
        let body = Array(#"{"position":"abcd1234.4"}"#.utf8)
        ledger.heard(EventID(text: "abcd1234.5"), of: 0, floor: 0)
        for isOld in [true, false] {
            _ = poster.request(to: "one", host: "localhost", &ledger, &random)
            poster.answered(200, body, isOld: isOld, &ledger)
            #expect(ledger.counts == (isOld ? [:] : [.backwards: 1]))
        }
    }

    @Test func `a state never goes back, and a session keeps its generation`() {
        var ledger = TortureLedger(sessions: 1)
        ledger.heard(EventID(text: "abcd1234.5"), of: 0, floor: 0)
        ledger.heard(EventID(text: "abcd1234.4"), of: 0, floor: 5)
        #expect(ledger.counts == [.backwards: 1])
        ledger.heard(EventID(text: "zzzz1234.5"), of: 0, floor: 5)
        #expect(ledger.counts == [.backwards: 1, .generation: 1])
    }

    @Test(arguments: [
        ([1, 2, 3], []), ([1, 3], [TortureFault.gap]), ([1, 1, 2], [.repeated]),
        ([2], [.gap]), ([1, 2, 1, 3], [.repeated]),
    ])
    func `a stream has every number once, from the first`(
        _ numbers: [Int], _ found: [TortureFault]
    ) {
        var ledger = TortureLedger(sessions: 1)
        var reader = TortureReader(session: 0, stream: .pulses)
        _ = reader.request(to: "s", epoch: EventID(text: "abcd1234.0").epoch, host: "h")
        for number in numbers {
            let event = TortureEvent(
                id: EventID(text: "abcd1234.\(number)"),
                mark: Mark(microseconds: 0, publisher: 0, sequence: UInt32(number)),
                beginsAnew: false)
            reader.receive(event, &ledger)
        }
        #expect(Array(ledger.counts.keys) == found)
    }

    @Test func `a reader resumes after its last id, within a record too`() {
        var ledger = TortureLedger(sessions: 1)
        var reader = TortureReader(session: 0, stream: .log)
        let epoch = EventID(text: "abcd1234.0").epoch
        let first = String(
            decoding: reader.request(to: "s", epoch: epoch, host: "h"), as: UTF8.self)
        #expect(first.contains("Last-Event-ID: abcd1234.0\r\n"))
        reader.receive(
            TortureEvent(id: EventID(text: "abcd1234.1.1"), mark: nil, beginsAnew: false), &ledger)
        let second = String(
            decoding: reader.request(to: "s", epoch: epoch, host: "h"), as: UTF8.self)
        #expect(second.contains("Last-Event-ID: abcd1234.1.1\r\n"))
        #expect(reader.number == 0)
        #expect(ledger.counts.isEmpty)
    }

    @Test func `a stream that restarts is a fault`() {
        var ledger = TortureLedger(sessions: 1)
        var reader = TortureReader(session: 0, stream: .pulses)
        reader.receive(
            TortureEvent(id: EventID(text: "abcd1234.7"), mark: nil, beginsAnew: true), &ledger)
        #expect(ledger.counts == [.reset: 1])
    }

    @Test func `an unanswered post is retried with its key, or abandoned without one`() {
        var ledger = TortureLedger(sessions: 1)
        var poster = TorturePoster(number: 0, session: 0)
        var random = SeededNumbers(seed: 1)
        let ask = { (poster: inout TorturePoster, ledger: inout TortureLedger) in
            poster.request(to: "s", host: "h", &ledger, &random)
        }
        _ = ask(&poster, &ledger)
        #expect(poster.errand == .create)
        poster.answered(201, Array(#"{"position":"abcd1234.0"}"#.utf8), &ledger)
        var sawBoth: Set<Bool> = []
        var version = 0
        while sawBoth.count < 2 {
            let sent = ask(&poster, &ledger)
            guard case .post(let index)? = poster.errand else {
                poster.answered(200, Array(#"{"position":"abcd1234.\#(version)"}"#.utf8), &ledger)
                continue
            }
            let post = ledger.posts[index]
            sawBoth.insert(post.hasKey)
            poster.lost(&ledger)
            if post.hasKey {
                #expect(ask(&poster, &ledger) == sent)
                version += post.count
                poster.answered(200, Array(#"{"position":"abcd1234.\#(version)"}"#.utf8), &ledger)
                #expect(ledger.posts[index].outcome == .acknowledged(UInt64(version)))
            } else {
                #expect(ledger.posts[index].outcome == .unanswered)
                #expect(poster.errand == nil)
            }
        }
    }
}

extension EventID {
    /// An id as the server writes it.
    fileprivate init(text: String) {
        let bytes = Array(text.utf8)
        self = EventID(bytes.span, range: 0..<bytes.count, scheme: .consecutive) ?? EventID()
    }
}
