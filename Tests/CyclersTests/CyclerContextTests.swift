import Cyclers
import Reactors
import TestStreams
import Testing

@Suite("A context holds its cycler weakly", .timeLimit(.minutes(60)))
struct CyclerContextTests {
    @Test func `case 130: after the cycler is released nothing is committed or sent`() {
        var tally: Tally? = Tally()
        weak let gone = tally
        let book = LineLogger()
        tally?.add(logger: book)
        let context = tally?.dispatch("waits") { context in
            context.commit { $0.update(3, \.a) }
            return context
        }
        let state = tally?.state
        book.clear()
        tally = nil
        #expect(gone == nil)
        #expect(context?.commit { $0.update(9, \.a) } == false)
        #expect(context?.emit("late") == false)
        var hasRun = false
        context?.retain { _ in hasRun = true }
        #expect(!hasRun)
        #expect(context?.currentState.a == 3)
        #expect(state?.version == 1)
        context?.complete()
        #expect(
            book.lines == ["didDrop commit #1", "didDrop emission #1", "didDispatch waits #1"])
    }

    @Test @MainActor
    func `case 130: the same holds for a cycler that ends while an action waits`() async throws {
        let tally = Tally()
        let action = Task { try await tally.receive(.addBeforeAndAfter(1, 2)) }
        await tally.gate.hasArrivals(1)
        tally.end()
        tally.gate.open()
        try await action.value
        tally.add(5)
        tally.emit("late")
        #expect(tally.state.value.a == 1)
        #expect(tally.version == 1)
    }

    @Test func `retain runs its closure while the cycler lives, and retains it meanwhile`() {
        var tally: Tally? = Tally()
        weak let watched = tally
        let context = tally?.dispatch { $0 }
        let answer = context?.retain { c in
            tally = nil
            #expect(watched != nil)
            c.commit { $0.update(1, \.a) }
            return c.currentState.a
        }
        #expect(answer == 1)
        #expect(watched == nil)
    }

    @Test func `an error thrown by retain's closure keeps its type`() {
        let tally = Tally()
        func fail() throws(Tally.Refused) {
            let context = tally.dispatch { $0 }
            try context.retain { _ throws(Tally.Refused) in throw Tally.Refused() }
        }
        #expect(throws: Tally.Refused.self) { try fail() }
    }

    @Test func `case 124: overlapping dispatches are distinguished by their numbers`() async throws
    {
        let tally = Tally()
        let book = LineLogger()
        tally.add(logger: book)
        let first = tally.dispatch("first") { $0 }
        let second = tally.dispatch("second") { $0 }
        second.commit { $0.update(2, \.b) }
        first.commit { $0.update(1, \.a) }
        second.complete()
        first.complete()
        #expect(
            book.lines == [
                "willDispatch first #1", "willDispatch second #2", "willMutate  #2",
                "didChange 2", "didMutate  v1 #2", "willMutate  #1", "didChange 1",
                "didMutate  v2 #1", "didDispatch second #2", "didDispatch first #1",
            ])
    }

    @Test func `a context released without complete is logged once, in the cycler's isolation`()
        async
    {
        let tally = Tally()
        let book = LineLogger()
        tally.add(logger: book)
        // One callback is called and one is not, both without `complete()`.
        var callbacks: [() -> Void] = []
        for name in ["called", "forgotten"] {
            tally.dispatch(name) { context in
                callbacks.append { context.commit { $0.update(1, \.a) } }
            }
        }
        callbacks[0]()
        book.clear()
        callbacks = []
        #expect(book.lines.isEmpty)
        tally.dispatch("next") { _ in }
        tally.add(1)
        #expect(
            book.lines.prefix(4) == [
                "didDispatch called DispatchNotCompleted() #1",
                "didDispatch forgotten DispatchNotCompleted() #2", "willDispatch next #3",
                "didDispatch next #3",
            ])
        #expect(book.lines.count == 7)
    }

    @Test func `a context may be released in another isolation`() async {
        let tally = Tally()
        let book = LineLogger()
        tally.add(logger: book)
        final class Holder: @unchecked Sendable { var context: CyclerContext<Tally>? }
        let holder = Holder()
        tally.dispatch("kept") { holder.context = $0 }
        await Task.detached { holder.context = nil }.value
        book.clear()
        tally.dispatch("next") { _ in }
        #expect(book.lines.first == "didDispatch kept DispatchNotCompleted() #1")
    }

    @Test func `a completed action is complete once, however its context ends`() {
        let tally = Tally()
        let book = LineLogger()
        tally.add(logger: book)
        tally.dispatch("kept") { $0 }.complete()
        tally.dispatch("next") { _ in }
        #expect(
            book.lines == [
                "willDispatch kept #1", "didDispatch kept #1", "willDispatch next #2",
                "didDispatch next #2",
            ])
    }
}
