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

    // Was a chain that ends in a bag.
    nonisolated(nonsending) func increment(by number: Int) async throws {
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

private struct Printer: CyclerLogger {  // was CycleLogging
    func didChange(value: Any, for keyPath: AnyKeyPath, root: Any) {
        print("\(keyPath) is \(value)")
    }

    func didMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {
        print("\(name) at \(file):\(line)")
    }
}

@MainActor
private final class News: @MainActor Cycler {
    struct State {
        var titles: [String] = []
        var isHinted = false
    }

    let state: Storage<State> = .init(.init())

    @discardableResult
    func refresh(from feed: some Feed) -> Task<Void, Never> {
        dispatch("refresh") { context in
            Task {
                let titles = await withCheckedContinuation { continuation in
                    feed.load { continuation.resume(returning: $0) }
                }
                context.commit { $0.update(titles, \.titles) }
                context.complete()
            }
        }
    }

    @discardableResult
    func hint(after time: Duration) -> Task<Void, Never> {
        dispatch("hint") { context in
            Task {
                try? await Task.sleep(for: time)  // was asyncAfter(deadline:)
                context.commit { $0.update(true, \.isHinted) }
                context.complete()
            }
        }
    }
}

// swift-format-ignore
extension ViewModel: ActionCycler {
    enum Action: TaggedCodable { case increment(number: Int), decrement(number: Int) }

    nonisolated(nonsending) func receive(_ action: Action) async throws {
        switch action {
        case .increment(let number): try await increment(by: number)
        case .decrement(let number): decrement(by: number)
        }
    }
}

extension ViewModel.State: Codable {}
extension ViewModel.Activity: TaggedCodable {}

extension ViewModel {
    nonisolated(nonsending) func order(_ number: Int, from shop: some Shop) async throws {
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

private protocol Feed: Sendable {
    func load(_ done: @escaping @Sendable ([String]) -> Void)
}

/// Calls back in a task of its own, when its gate is open.
private struct GatedFeed: Feed {
    let titles: [String]
    let gate = Gate()

    var opened: GatedFeed {
        gate.open()
        return self
    }

    func load(_ done: @escaping @Sendable ([String]) -> Void) {
        Task {
            await gate.pass()
            done(titles)
        }
    }
}

@Suite("The guide to porting from Cycler", .timeLimit(.minutes(60)))
struct PortingFromCyclerTests {
    private static let here = URL(fileURLWithPath: #filePath)

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .map { $0.replacing(/^private (?=final class|struct)/, with: "") }
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
        #expect(blocks.count == 10)
        // `.ci/guides` compiles all blocks. This target lacks the modules of blocks with imports.
        for block in blocks where block.first?.hasPrefix("import ") == false {
            #expect(file.contains(block), "\(block)")
        }
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
        basket.add(logger: Printer())
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
    func `its news are refreshed by a callback, and not retained while it is awaited`() async {
        var news: News? = News()
        weak let gone = news
        let state = news?.state
        let first = news?.refresh(from: GatedFeed(titles: ["a"]).opened)
        await first?.value
        #expect(state?.value.titles == ["a"])
        let late = GatedFeed(titles: ["b"])
        let second = news?.refresh(from: late)
        await late.gate.hasArrivals(1)
        news = nil
        #expect(gone == nil)
        late.gate.open()
        await second?.value
        #expect(state?.version == 1)
    }

    @Test @MainActor func `its hint comes, and both actions are complete`() async {
        let (news, logger) = (News(), LineLogger())
        news.add(logger: logger)
        await news.hint(after: .zero).value
        #expect(news.state.value.isHinted)
        #expect(logger.lines.last == "didDispatch hint #1")
    }
}
