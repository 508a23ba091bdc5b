import Cyclers
import Reactors
import TestStreams
import Testing

@Suite(
    "A dispatch is logged from begin to end, and returns its closure's result",
    .timeLimit(.minutes(60)))
@MainActor
struct DispatchTests {
    private let tally = Tally()
    private let book = LineLogger()

    init() { tally.add(logger: book) }

    @Test func `case 122: will dispatch, will mutate, did mutate, did dispatch, with locations`() {
        let answer = tally.dispatch("outer", "says why") { _ in
            tally.commit("inner", "says more") { $0.update(1, \.a) }
            return 7
        }
        let line = UInt(#line) - 4
        #expect(answer == 7)
        #expect(
            book.lines == [
                "willDispatch outer #1", "willMutate inner #1", "didChange 1",
                "didMutate inner v1 #1", "didDispatch outer #1",
            ])
        #expect(book.calls.map(\.name) == ["outer", "inner", "inner", "outer"])
        #expect(
            book.calls.map(\.description) == ["says why", "says more", "says more", "says why"])
        #expect(book.calls.map(\.line) == [line, line + 1, line + 1, line])
        for call in book.calls {
            #expect("\(call.file)" == "CyclersTests/DispatchTests.swift")
            #expect("\(call.function)".hasPrefix("case 122"))
        }
    }

    @Test func `case 122: did dispatch comes when the asynchronous part is complete`() async throws
    {
        let action = Task { try await tally.receive(.addBeforeAndAfter(1, 2)) }
        await tally.gate.hasArrivals(1)
        #expect(
            book.takeLines() == [
                "willDispatch before and after #1", "willMutate before #1", "didChange 1",
                "didMutate before v1 #1",
            ])
        tally.gate.open()
        try await action.value
        #expect(
            book.lines == [
                "willMutate after #1", "didChange 3", "didMutate after v2 #1", "didEmit after #1",
                "didDispatch before and after #1",
            ])
    }

    @Test func `case 122: a closure that returns its context completes the action itself`() {
        let kept = tally.dispatch("kept") { context in context }
        #expect(book.takeLines() == ["willDispatch kept #1"])
        #expect(kept.commit("later") { $0.update(1, \.a) })
        kept.complete()
        kept.complete()
        #expect(
            book.takeLines() == [
                "willMutate later #1", "didChange 1", "didMutate later v1 #1",
                "didDispatch kept #1",
            ])
        #expect(!kept.commit("too late") { $0.update(9, \.a) })
        #expect(!kept.emit("too late"))
        #expect(kept.retain { _ in true } == nil)
        #expect(tally.state.value.a == 1)
        #expect(book.lines == ["didDrop commit #1", "didDrop emission #1"])
    }

    @Test func `case 123: did mutate and did dispatch carry the thrown error`() async {
        await #expect(throws: Tally.Refused.self) {
            try await tally.dispatch("outer") { _ in try await tally.receive(.fail(after: 4)) }
        }
        #expect(throws: Tally.Refused.self) {
            try tally.dispatch("sync") { context in
                try context.commit("refused") { _ in throw Tally.Refused() }
            }
        }
        #expect(tally.state.value.a == 4)
        #expect(
            book.lines == [
                "willDispatch outer #1", "willMutate add", "didChange 4", "didMutate add v1",
                "willMutate failing", "didMutate failing Refused()",
                "didDispatch outer Refused() #1",
                "willDispatch sync #2", "willMutate refused #2",
                "didMutate refused Refused() #2", "didDispatch sync Refused() #2",
            ])
    }

    @Test func `an error thrown by a dispatch keeps its type`() async {
        func fail() throws(Tally.Refused) {
            try tally.dispatch { _ throws(Tally.Refused) in throw Tally.Refused() }
        }
        #expect(throws: Tally.Refused.self) { try fail() }
    }

    @Test func `a commit of a subscriber does not belong to the dispatch that it saw`() {
        tally.state.add { if $0.b == 0 { tally.commit("reaction") { $0.update(1, \.b) } } }
        tally.dispatch("outer") { _ in tally.add(1) }
        #expect(book.lines.contains("willMutate reaction"))
        #expect(book.lines.last == "didMutate reaction v2")
    }

    @Test func `a logger that another one adds gets lines from the next one on`() {
        final class Adder: CyclerLogger {
            let late = LineLogger()
            let tally: Tally
            init(_ tally: Tally) { self.tally = tally }
            func willMutate(_ call: CyclerCall) { tally.add(logger: late) }
        }
        let adder = Adder(tally)
        let token = tally.add(logger: adder)
        tally.add(1)
        tally.remove(logger: token)
        #expect(adder.late.lines == ["didChange 1", "didMutate add v1"])
    }
}
