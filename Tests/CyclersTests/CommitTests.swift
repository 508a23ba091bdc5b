import Cyclers
import Reactors
import Testing

@Suite("A commit is one version and one notification, or nothing", .timeLimit(.minutes(60)))
struct CommitTests {
    private struct Failure: Error {}

    private let tally = Tally()
    private let book = LineLogger()

    init() { tally.add(logger: book) }

    @Test func `case 107: two writes in one commit are one notification`() {
        var told: [Tally.State] = []
        tally.state.add { told.append($0) }
        tally.commit("both") {
            $0.update(1, \.a)
            $0.update(2, \.b)
        }
        #expect(told == [Tally.State(a: 1, b: 2)])
        #expect(tally.version == 1)
        #expect(
            book.lines == ["willMutate both", "didChange 1", "didChange 2", "didMutate both v1"])
    }

    @Test
    func `case 111: a commit that writes nothing makes no version and is logged as unchanged`() {
        var told = 0
        tally.state.add { _ in told += 1 }
        tally.commit("idle") { $0.updateIfChanged(0, \.a) }
        #expect(told == 0)
        #expect(tally.version == 0)
        #expect(book.lines == ["willMutate idle", "didMutate idle unchanged"])
    }

    @Test func `case 116: a throwing commit changes nothing, is logged, and the next one works`() {
        var told: [Int] = []
        tally.state.add { told.append($0.a) }
        tally.add(1)
        book.clear()
        #expect(throws: Tally.Refused.self) {
            try tally.commit("failing") {
                $0.update(9, \.a)
                throw Tally.Refused()
            }
        }
        #expect(tally.state.value == Tally.State(a: 1))
        #expect(tally.version == 1)
        #expect(book.takeLines() == ["willMutate failing", "didMutate failing Refused()"])
        tally.add(1)
        #expect(told == [1, 2])
        #expect(book.lines == ["willMutate add", "didChange 2", "didMutate add v2"])
    }

    @Test
    func `case 118: inside a commit the present value is the working copy, however read`() {
        tally.commit { state in
            state.update(1, \.a)
            #expect(state.value.a == 1)
            #expect(tally.state.value.a == 1)
            #expect(tally.state.map(\.sumText).value == "1")
            state.update(tally.state.value.a + state.value.a, \.b)
        }
        #expect(tally.state.value == Tally.State(a: 1, b: 2))
    }

    @Test func `case 118: in a dispatch, the context's state is the working copy as well`() {
        tally.dispatch { context in
            context.commit { state in
                state.update(5, \.a)
                #expect(context.currentState.a == 5)
            }
        }
    }

    @Test func `a commit within a commit is part of it`() {
        var told: [Tally.State] = []
        tally.state.add { told.append($0) }
        tally.commit("outer") { state in
            state.update(1, \.a)
            tally.commit("inner") { $0.update(2, \.b) }
            tally.commit("idle") { _ in }
        }
        #expect(told == [Tally.State(a: 1, b: 2)])
        #expect(tally.version == 1)
        #expect(
            book.lines == [
                "willMutate outer", "didChange 1", "willMutate inner", "didChange 2",
                "didMutate inner joined", "willMutate idle", "didMutate idle unchanged",
                "didMutate outer v1",
            ])
    }

    @Test func `a failing commit within a commit rolls back only itself`() {
        tally.commit("outer") { state in
            state.update(1, \.a)
            #expect(throws: Failure.self) {
                try tally.commit("inner") {
                    $0.update(2, \.a)
                    $0.update(2, \.b)
                    throw Failure()
                }
            }
            #expect(state.value == Tally.State(a: 1))
        }
        #expect(tally.state.value == Tally.State(a: 1))
        #expect(
            book.lines == [
                "willMutate outer", "didChange 1", "willMutate inner", "didMutate inner Failure()",
                "didMutate outer v1",
            ])
    }

    @Test func `a failing commit rolls back the commits in it, and reports them`() {
        #expect(throws: Failure.self) {
            try tally.commit("outer") { _ in
                tally.commit("inner") { $0.update(2, \.b) }
                tally.emit("rolled back")
                throw Failure()
            }
        }
        #expect(tally.state.value == Tally.State())
        #expect(tally.version == 0)
        #expect(
            book.lines == [
                "willMutate outer", "willMutate inner", "didMutate inner joined",
                "didMutate outer Failure()",
            ])
    }

    @Test func `an error thrown by a commit keeps its type`() {
        func fail() throws(Failure) {
            try tally.commit { _ throws(Failure) in throw Failure() }
        }
        #expect(throws: Failure.self) { try fail() }
    }

    @Test func `the storage passed to a commit writes its own versions after it`() {
        var kept: MutableStorage<Tally.State>?
        tally.commit { kept = $0 }
        kept?.update(3, \.a)
        #expect(tally.version == 1)
        #expect(book.lines.last == "didChange 3")
    }

    @Test func `writes in place do not copy unless someone reads`() {
        // The address of an array's elements stays the same if and only if nothing was copied.
        let storage = MutableStorage([0, 1, 2])
        func address() -> UInt {
            unsafe storage.value.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        let before = address()
        storage.update(5, \.[1])
        #expect(address() == before)
        #expect(storage.value == [0, 5, 2])
    }
}
