import Cyclers
import Reactors
import TestStreams
import Testing

@Suite("An activity reaches present readers, and is no part of the state", .timeLimit(.minutes(60)))
struct CyclerActivityTests {
    private let tally = Tally()

    @Test func `case 125: an activity arrives once, makes no version and leaves no trace`()
        async throws
    {
        var activities = Reading(tally.activities())
        var told = 0
        tally.state.add { _ in told += 1 }
        tally.emit("big")
        tally.emit("sentinel")
        #expect(try await activities.next(2) == ["big", "sentinel"])
        #expect(tally.version == 0)
        #expect(tally.state.value == Tally.State())
        #expect(told == 0)
    }

    @Test func `case 128: an activity is not sent to later readers; equal ones are all sent`()
        async throws
    {
        tally.emit("before")
        var activities = Reading(tally.activities())
        tally.emit("same")
        tally.emit("same")
        #expect(try await activities.next(2) == ["same", "same"])
    }

    @Test func `case 128: a reader added during an emission does not receive it`() async throws {
        var late: ReactorStream<String>?
        tally.dispatch { _ in
            tally.emit("before")
            late = tally.activities()
        }
        tally.emit("sentinel")
        var activities = Reading(try #require(late))
        #expect(try await activities.next(1) == ["sentinel"])
    }

    @Test func `case 129: every present reader gets the activity`() async throws {
        var readers = (0..<3).map { _ in Reading(tally.activities()) }
        tally.emit("x")
        for index in readers.indices { #expect(try await readers[index].next(1) == ["x"]) }
        #expect(tally.activityReaderCount == 3)
    }

    @Test func `an activity in a commit is sent after it, and never if it fails`() {
        let book = LineLogger()
        tally.add(logger: book)
        tally.commit("c") { state in
            tally.emit("x")
            state.update(1, \.a)
        }
        #expect(throws: Tally.Refused.self) {
            try tally.commit("f") { _ in
                tally.emit("rolled back")
                throw Tally.Refused()
            }
        }
        #expect(
            book.lines == [
                "willMutate c", "didChange 1", "didMutate c v1", "didEmit x", "willMutate f",
                "didMutate f Refused()",
            ])
    }
}
