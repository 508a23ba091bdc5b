import Foundation
import ReactorTesting
import Cyclers
import Reactors
import TestStreams
import Testing

// The seed's ViewModel. Its action waits with RxSwift's `delay` and keeps a disposable; here it is
// an asynchronous dispatch, so `increment` is `async`. Everything else is the seed's text.

// swift-format-ignore
private class ViewModel : Cycler {

  enum Activity {
    case didReachBigNumber
  }

  struct State {

    // - Data
    fileprivate var count: Int = 0

    // - Computed
    // It will be subscribed whole of this State, so, we can use computed property.
    var countText: String {
      return count.description
    }
  }

  let clock: any Clock<Duration>

  let state: Storage<State> = .init(.init(count: 0))

  init(clock: any Clock<Duration> = ContinuousClock()) {
    self.clock = clock
  }

  func increment(number: Int) async throws {

    // Dispatch Action
    // Action can contain async operation.
    try await dispatch("increment") { (context) in

      // Context references self weakly.

      try await clock.sleep(for: .milliseconds(100))

      // Retain references of context
      // So, run operation completely in this scope.
      context.retain { c in

        // Mutation
        // Transaction for mutating.
        c.commit { (state) in
          // State is MutableStorage.
          state.updateIfChanged(state.value.count + number, \.count)
        }

        if c.currentState.count > 10 {
          // Emit Activity.
          // Activity just an event that does not need to store to State.
          c.emit(.didReachBigNumber)
        }
      }
    }
  }

  func decrement(number: Int) {

    dispatch("decrement") { _ in
      commit { (state) in
        state.updateIfChanged(state.value.count - number, \.count)
      }
    }

  }
}
// End of the view model

@Suite(
    "The seed's ViewModel ports by changing its import and replacing RxSwift",
    .timeLimit(.minutes(60)))
@MainActor
struct SeedViewModelTests {
    private let clock = ManualClock()
    private let model: ViewModel

    init() { model = ViewModel(clock: clock) }

    /// Increments as the seed's caller does, and waits for the 100 ms.
    private func increment(_ number: Int) async throws {
        let action = Task { try await model.increment(number: number) }
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(100))
        try await action.value
    }

    @Test func `case 126: 10 emits nothing, 11 and 12 emit an activity each`() async throws {
        let book = LineLogger()
        var activities = Reading(model.activities())
        try await increment(10)
        model.add(logger: book)
        try await increment(0)
        #expect(book.takeLines().allSatisfy { !$0.hasPrefix("didEmit") })
        try await increment(1)
        try await increment(1)
        #expect(try await activities.next(2) == [.didReachBigNumber, .didReachBigNumber])
        #expect(
            book.lines == [
                "willDispatch increment #3", "willMutate  #3", "didChange 11", "didMutate  v2 #3",
                "didEmit didReachBigNumber #3", "didDispatch increment #3",
                "willDispatch increment #4", "willMutate  #4", "didChange 12", "didMutate  v3 #4",
                "didEmit didReachBigNumber #4", "didDispatch increment #4",
            ])
    }

    @Test func `case 51: countText is notified when it changes`() async throws {
        var texts = Reading(model.state.changed(\.countText))
        try await increment(1)
        try await increment(0)
        model.decrement(number: 3)
        #expect(try await texts.next(3) == ["0", "1", "-2"])
    }

    @Test func `its storage is observed like the seed's, by a subscriber and its token`() {
        var texts: [String] = []
        let token = model.state.map(\.countText).distinct().add { texts.append($0) }
        model.decrement(number: 1)
        model.decrement(number: 0)
        model.decrement(number: 1)
        model.state.remove(subscriber: token)
        model.decrement(number: 1)
        #expect(texts == ["-1", "-2"])
    }

    @Test func `the compiled text is the seed's, apart from these lines`() throws {
        let file = try String(contentsOfFile: #filePath, encoding: .utf8)
        let start = try #require(file.range(of: "// swift-format-ignore\n"))
        let end = try #require(file.range(of: "// End of the view model"))
        let ours = Self.lines(file[start.upperBound..<end.lowerBound])
        let changes = ours.difference(from: Self.lines(seedViewModelText))
        let removed = changes.removals.map(\.line)
        let added = changes.insertions.map(\.line)
        #expect(removed == Self.removed)
        #expect(added == Self.added)
    }

    /// Members that RxSwift provided.
    private static let removed = [
        "class ViewModel : CyclerType {",
        "private let disposeBag = DisposeBag()",
        "init() {",
        "func increment(number: Int) {",
        #"dispatch("increment") { (context) in"#,
        "Observable.just(())",
        ".delay(0.1, scheduler: MainScheduler.instance)",
        ".do(onNext: {",
        "})",
        ".subscribe()",
        ".disposed(by: disposeBag)",
    ]

    private static let added = [
        "private class ViewModel : Cycler {",
        "let clock: any Clock<Duration>",
        "init(clock: any Clock<Duration> = ContinuousClock()) {",
        "self.clock = clock",
        "func increment(number: Int) async throws {",
        #"try await dispatch("increment") { (context) in"#,
        "try await clock.sleep(for: .milliseconds(100))",
    ]

    private static func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }
}

extension CollectionDifference.Change {
    fileprivate var line: ChangeElement {
        switch self {
        case .insert(_, let element, _), .remove(_, let element, _): element
        }
    }
}
