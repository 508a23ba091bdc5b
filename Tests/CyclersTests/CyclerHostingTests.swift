import Dispatch
import Cyclers
import Reactors
import TestStreams
import Testing

@Suite(
    "A host is notified in order, and can roll back unsaved commits", .timeLimit(.minutes(60)))
struct CyclerHostingTests {
    /// A loop with one session.
    private actor Loop {
        private let executor = QueueExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor {
            unsafe executor.asUnownedSerialExecutor()
        }
        nonisolated var queue: DispatchQueue { executor.queue }

        private let session = CyclerSession(Tally())
        var log: [String] { session.log }
        var value: Tally.State { session.cycler.state.value }
        var version: UInt64 { session.cycler.version }
        var runningCount: Int { session.running.count }
        nonisolated let gate: Gate

        init() { gate = session.cycler.gate }

        @discardableResult
        func post(_ action: Tally.Action) -> CyclerSession<Tally>.Answer {
            session.receive(action, on: self)
        }

        func save() { session.save() }
        func rollBack() { session.rollBack() }
        func end() { session.end() }

        func settled() async {
            for task in session.running.values { await task.value }
        }
    }

    private let loop = Loop()

    @Test func `the part of an action before its first suspension is done when the call returns`()
        async
    {
        #expect(await loop.post(.add(2)) == .applied(version: 1))
        #expect(await loop.post(.addBeforeAndAfter(3, 4)) == .applied(version: 2))
        #expect(await loop.value.a == 5)
        #expect(await loop.runningCount == 1)
        loop.gate.open()
        await loop.settled()
        #expect(await loop.value.a == 9)
        #expect(await loop.runningCount == 0)
        #expect(
            await loop.log == [
                "changed 2 of 1", "committed v1 of 1", "willDispatch before and after of 2",
                "changed 5 of 2", "committed v2 of 2", "changed 9 of 2", "committed v3 of 2",
                "emitted after of 2", "didDispatch before and after of 2",
            ])
    }

    @Test func `the same holds outside a task, in the handler of a Dispatch source`() async {
        let answer = await withCheckedContinuation { continuation in
            loop.queue.async {
                let answer = loop.assumeIsolated { $0.post(.addBeforeAndAfter(3, 4)) }
                continuation.resume(returning: answer)
            }
        }
        #expect(answer == .applied(version: 1))
        loop.gate.open()
        await loop.settled()
        #expect(await loop.value.a == 7)
    }

    @Test func `case 116: an action whose synchronous part throws is refused and rolled back`()
        async
    {
        await loop.post(.add(1))
        await loop.save()
        #expect(await loop.post(.fail(after: 5)) == .refused)
        #expect(await loop.value.a == 1)
        #expect(await loop.version == 1)
        #expect(await loop.log.last == "failing commit Refused() of 2")
        #expect(await loop.post(.add(1)) == .applied(version: 2))
    }

    @Test func `a failure after the first suspension is reported, and the session continues`() async
    {
        #expect(await loop.post(.failLater) == .applied(version: 0))
        loop.gate.open()
        await loop.settled()
        #expect(await loop.log == ["failed Refused() of 1"])
        #expect(await loop.post(.add(1)) == .applied(version: 1))
    }

    @Test func `case 124: overlapping actions are distinguished`() async {
        await loop.post(.addBeforeAndAfter(1, 10))
        await loop.post(.addBeforeAndAfter(2, 20))
        loop.gate.open()
        await loop.settled()
        #expect(await loop.value.a == 33)
        let log = await loop.log
        for number in 1...2 {
            let own = log.filter { $0.hasSuffix(" of \(number)") }.map { $0.dropLast(5) }
            #expect(own.count == 7)
            #expect(own.first == "willDispatch before and after")
            #expect(own.filter { $0.hasPrefix("committed") }.count == 2)
            #expect(own.last == "didDispatch before and after")
        }
        #expect(log.count == 14)
    }

    @Test func `case 130: after the session's end waiting actions do nothing`() async {
        await loop.post(.addLater(5))
        await loop.post(.addBeforeAndAfter(1, 2))
        await loop.end()
        loop.gate.open()
        await loop.settled()
        #expect(await loop.value.a == 1)
        #expect(await loop.version == 1)
        #expect(await loop.log.contains("didDispatch before and after CancellationError() of 2"))
    }

    @Test func `a restored state notifies nobody; versions reached again do`() async throws {
        let tally = Tally()
        let session = CyclerSession(tally)
        var told: [Int] = []
        tally.state.add { told.append($0.a) }
        tally.add(1)
        session.save()
        tally.add(1)
        var late = Reading(tally.state.values())
        session.rollBack()
        #expect(tally.state.value.a == 1)
        #expect(tally.version == 1)
        #expect(told == [1, 2])
        tally.add(5)
        #expect(told == [1, 2, 6])
        #expect(try await late.next(2).map(\.a) == [2, 6])
        tally.restore(Tally.State(a: 100), version: 40)
        #expect(tally.version == 40)
        tally.add(1)
        #expect(told.last == 101)
        #expect(
            session.log == [
                "changed 1", "committed v1", "changed 2", "committed v2", "changed 6",
                "committed v2",
                "changed 101", "committed v41",
            ])
    }

    @Test func `the host is called before loggers and subscribers, and not retained`() {
        final class Host: CyclerObserver {
            typealias State = Tally.State
            typealias Activity = String
            let note: (String) -> Void
            init(_ note: @escaping (String) -> Void) { self.note = note }
            var wantsChanges: Bool { false }
            func committed(_ state: Tally.State, version: UInt64, by call: CyclerCall?) {
                note("committed \(call?.name ?? "-")")
            }
            func emitted(_ activity: String, by call: CyclerCall) { note("emitted") }
            func didChange<Root, Value>(
                _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
            ) {
                note("changed")
            }
        }
        var lines: [String] = []
        let tally = Tally()
        var host: Host? = Host { lines.append($0) }
        tally.observe(by: host)
        tally.state.add { _ in lines.append("subscriber") }
        tally.add(1)
        tally.emit("x")
        tally.commit { $0.update(1, \.b) }
        #expect(
            lines == ["committed add", "subscriber", "emitted", "committed ", "subscriber"])
        weak let gone = host
        host = nil
        #expect(gone == nil)
        tally.add(1)
        #expect(lines.last == "subscriber")
        #expect(!tally.state.isLogged)
    }
}
