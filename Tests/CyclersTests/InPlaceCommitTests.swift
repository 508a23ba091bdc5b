import Cyclers
import Reactors
import Testing

// The forms of Cycler 3.0.1's source in which a commit gets the state itself.

private final class Basket: Cycler {
    struct Refused: Error {}

    struct State: Equatable {
        var items: [String] = []
        var isOpen = true
    }

    let state: Storage<State> = .init(.init())

    func put(_ item: String) {
        dispatch("put") { context in
            context.commit { state in state.items.append(item) }
        }
    }

    func close() {
        commit("close") { (state: inout State) in state.isOpen = false }
    }

    func refuse() throws {
        try commit("refuse") { state in
            state.items.removeAll()
            throw Refused()
        }
    }

    func clear() { commit("clear", replace: State()) }
}

private final class Shelf: ModularCycler {
    struct State { var isFull = false }

    let state: Storage<State> = .init(.init())
    let parent = CyclerParent<Basket>()
}

@Suite("A commit may change the state in place", .timeLimit(.minutes(60)))
struct InPlaceCommitTests {
    private let basket = Basket()
    private let book = LineLogger()

    init() { basket.set(logger: book) }

    @Test func `a commit is one version and one notification, whatever it writes`() {
        var told: [Basket.State] = []
        basket.state.add { told.append($0) }
        basket.commit("both") { state in
            state.items = ["a"]
            state.isOpen = false
        }
        #expect(told == [Basket.State(items: ["a"], isOpen: false)])
        #expect(basket.version == 1)
        #expect(book.lines == ["willMutate both", "didReplace", "didMutate both v1"])
    }

    @Test func `a dispatch's context can commit in place too`() {
        basket.put("a")
        basket.put("b")
        basket.close()
        #expect(basket.state.value == Basket.State(items: ["a", "b"], isOpen: false))
        #expect(basket.version == 3)
    }

    @Test func `a throwing commit changes nothing, and the next one works`() {
        basket.put("a")
        _ = book.takeLines()
        #expect(throws: Basket.Refused.self) { try basket.refuse() }
        #expect(basket.state.value.items == ["a"])
        #expect(basket.version == 1)
        #expect(book.lines == ["willMutate refuse", "didMutate refuse Refused()"])
        basket.put("b")
        #expect(basket.state.value.items == ["a", "b"])
    }

    @Test func `replacing the whole state is a version, even with an equal one`() {
        basket.put("a")
        basket.clear()
        basket.clear()
        #expect(basket.state.value == Basket.State())
        #expect(basket.version == 3)
        let wasReplaced = basket.dispatch { $0.commit(replace: Basket.State(items: ["b"])) }
        #expect(wasReplaced)
        #expect(basket.state.value.items == ["b"])
    }

    @Test
    func `during a commit the storage is unchanged, and other commits are dropped and logged`() {
        basket.commit("outer") { (state: inout Basket.State) in
            state.items = ["outer"]
            #expect(basket.state.value.items.isEmpty)
            basket.commit("inner") { $0.update(["inner"], \.items) }
            basket.clear()
            basket.dispatch { context in
                #expect(!context.commit { (state: inout Basket.State) in state.isOpen = false })
            }
        }
        #expect(basket.state.value == Basket.State(items: ["outer"]))
        #expect(basket.version == 1)
        #expect(book.lines.count { $0.hasPrefix("didDrop commit") } == 3)
        basket.close()
        #expect(basket.version == 2)
    }

    @Test func `within a commit that has the storage it becomes part of it`() {
        var told = 0
        basket.state.add { _ in told += 1 }
        basket.commit("outer") { storage in
            storage.update(["a"], \.items)
            basket.commit("inner") { (state: inout Basket.State) in state.items.append("b") }
            #expect(storage.value.items == ["a", "b"])
        }
        #expect(told == 1)
        #expect(basket.version == 1)
    }

    @Test func `an untyped closure that fits the storage gets the storage`() {
        basket.commit { _ in }
        #expect(basket.version == 0)
    }

    @Test func `commits of a context are dropped after its cycler's end`() {
        var context: CyclerContext<Basket>?
        basket.dispatch { context = $0 }
        basket.end()
        #expect(context?.commit { (state: inout Basket.State) in state.isOpen = false } == false)
        #expect(context?.commit(replace: Basket.State()) == false)
        #expect(basket.version == 0)
    }

    @Test func `a storage without a cycler is changed in place too`() {
        let storage = MutableStorage([1])
        var told: [[Int]] = []
        storage.add { told.append($0) }
        storage.update { $0.append(2) }
        #expect(throws: Basket.Refused.self) {
            try storage.update { value in
                value.removeAll()
                throw Basket.Refused()
            }
        }
        storage.update { value in
            value.append(3)
            #expect(storage.value == [1, 2])
        }
        #expect(told == [[1, 2], [1, 2, 3]])
        #expect(storage.version == 2)
    }

    @Test func `setting a logger replaces all added ones`() async throws {
        let (other, last) = (LineLogger(), LineLogger())
        let log = basket.log()
        basket.add(logger: other)
        let token = basket.set(logger: last)
        basket.clear()
        #expect(book.lines.isEmpty)
        #expect(other.lines.isEmpty)
        #expect(last.lines.count == 3)
        basket.remove(logger: token)
        basket.clear()
        #expect(last.lines.count == 3)
        basket.end()
        var lines = 0
        for try await _ in log { lines += 1 }
        #expect(lines == 6)
    }

    @Test func `a module is added to its parent and retains it only on request`() throws {
        var parent: Basket? = Basket()
        weak let gone = parent
        let shelf = Shelf()
        parent?.add(module: shelf)
        try shelf.forward { $0.put("a") }
        #expect(parent?.state.value.items == ["a"])
        parent = nil
        #expect(gone == nil)
        #expect(throws: CyclerParentMissing.self) { try shelf.forward { $0.put("a") } }

        parent = Basket()
        weak let kept = parent
        parent?.add(module: shelf, retainParent: true)
        parent = nil
        try shelf.forward { $0.put("b") }
        #expect(kept?.state.value.items == ["b"])
        shelf.parent.link(to: nil)
        #expect(kept == nil)
    }
}
