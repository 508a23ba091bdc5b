import Reactors

// The seed's ViewModel. Its action waits with RxSwift's `delay` and keeps a disposable; here it is
// an asynchronous dispatch, so `increment` is `async`. Everything else is the seed's text.

// swift-format-ignore
class ViewModel : Cycler {

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
