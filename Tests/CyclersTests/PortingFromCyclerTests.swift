import Foundation
import Cyclers
import Reactors
import TestStreams
import Testing

// The code of `PortingFromCycler.md`, compiled: word for word, in any indentation.

// swift-format-ignore
private final class ViewModel: Cycler {                             // was CyclerType
    enum Activity {
        case didReachBigNumber
    }

    struct State {
        fileprivate(set) var count = 0
        var countText: String { count.description }
    }

    let state: Storage<State> = .init(.init())

    func increment(by number: Int) async throws {           // was a chain that ends in a bag
        try await dispatch("increment") { context in
            try await Task.sleep(for: .milliseconds(100))   // was .delay(0.1, scheduler: …)
            context.retain { c in
                c.commit { state in
                    state.updateIfChanged(state.value.count + number, \.count)
                }
                if c.currentState.count > 10 { c.emit(.didReachBigNumber) }
            }
        }
    }

    func decrement(by number: Int) {
        dispatch("decrement") { _ in
            commit { state in
                state.updateIfChanged(state.value.count - number, \.count)
            }
        }
    }
}

@MainActor
private final class Screen: Cycler {
    struct State { var isLoaded = false }

    let state: Storage<State> = .init(.init())

    func load(_ wait: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        dispatch("load") { context in
            Task {
                await wait()
                context.commit { $0.update(true, \.isLoaded) }
                context.complete()
            }
        }
    }
}

extension ViewModel: ActionCycler {
    enum Action { case increment(number: Int), decrement(number: Int) }

    func receive(_ action: Action) async throws {
        switch action {
        case .increment(let number): try await increment(by: number)
        case .decrement(let number): decrement(by: number)
        }
    }
}

extension ViewModel {
    func order(_ number: Int, from shop: some Shop) async throws {
        try await dispatch("order") { context in
            context.commit { $0.update(number, \.count) }
            guard await context.saved() else { return }
            try await shop.deliver(number)
        }
    }
}

private final class Basket: Cycler {
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
        commit { (state: inout State) in state.isOpen = false }
    }

    func clear() {
        commit("clear", replace: State())
    }
}

private final class Shelf: ModularCycler {
    struct State { var isFull = false }

    let state: Storage<State> = .init(.init())
    let parent = CyclerParent<Basket>()  // Cycler kept it beside the object

    func fill() throws {
        try forward { basket in basket.put("last") }
    }
}

private protocol Shop: Sendable {
    func deliver(_ number: Int) async throws
}

private actor CornerShop: Shop {
    private(set) var delivered: [Int] = []

    func deliver(_ number: Int) { delivered.append(number) }
}

@Suite("The guide to porting from Cycler", .timeLimit(.minutes(15)))
struct PortingFromCyclerTests {
    private static let here = URL(fileURLWithPath: #filePath)

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .map { $0.replacing("private final class", with: "final class") }
            .filter { !$0.isEmpty }
    }

    @Test func `the document's code is in this file, word for word`() throws {
        var root = Self.here
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let guide = try String(
            contentsOf: root.appending(
                path: "Sources/Cyclers/Cyclers.docc/PortingFromCycler.md"), encoding: .utf8)
        let file = Self.lines(try String(contentsOf: Self.here, encoding: .utf8))
        let blocks = guide.split(separator: "```swift\n").dropFirst().compactMap {
            $0.split(separator: "```").first.map(Self.lines)
        }
        #expect(blocks.count == 8)
        for block in blocks { #expect(file.contains(block), "\(block)") }
    }

    @Test func `its view model counts`() async throws {
        let viewModel = ViewModel()
        var shown: [String] = []
        func show(_ text: String) { shown.append(text) }
        let (texts, activities) = (viewModel.state.changed(\.countText), viewModel.activities())
        viewModel.decrement(by: 1)
        try await viewModel.receive(.decrement(number: 1))
        viewModel.emit(.didReachBigNumber)
        viewModel.end()
        #expect(viewModel.version == 2)
        try await readTexts(viewModel, show)
        try await readActivities(viewModel, show)
        for try await text in texts { show(text) }
        for try await activity in activities { show("\(activity)") }
        #expect(shown == ["-2", "0", "-1", "-2", "didReachBigNumber"])
    }

    @Test func `its basket is filled by its shelf, closed and cleared`() throws {
        let logger = LineLogger()
        let (basket, shelf) = (Basket(), Shelf())
        basket.set(logger: logger)
        basket.add(module: shelf)
        try shelf.fill()
        basket.close()
        #expect(basket.state.value == Basket.State(items: ["last"], isOpen: false))
        basket.clear()
        #expect(basket.state.value == Basket.State())
        #expect(logger.lines.last == "didMutate clear v3")
    }

    @Test func `its order is delivered when it is saved, and not by a view model that has ended`()
        async throws
    {
        let (viewModel, shop) = (ViewModel(), CornerShop())
        try await viewModel.order(3, from: shop)
        viewModel.end()
        try await viewModel.order(4, from: shop)
        #expect(await shop.delivered == [3])
        #expect(viewModel.state.value.count == 3)
    }

    private func readTexts(_ viewModel: ViewModel, _ show: (String) -> Void) async throws {
        for try await text in viewModel.state.changed(\.countText) { show(text) }
    }

    private func readActivities(_ viewModel: ViewModel, _ show: (String) -> Void) async throws {
        for try await activity in viewModel.activities() { show("\(activity)") }
    }

    @Test @MainActor
    func `its screen loads, and is not retained by the work it waits for`() async {
        var screen: Screen? = Screen()
        weak let gone = screen
        let state = screen?.state
        let gate = Gate()
        let first = screen?.load { await gate.pass() }
        gate.open()
        await first?.value
        #expect(state?.value.isLoaded == true)
        let held = Gate()
        let second = screen?.load { await held.pass() }
        await held.hasArrivals(1)
        screen = nil
        #expect(gone == nil)
        held.open()
        await second?.value
        #expect(state?.version == 1)
    }
}
