// The view model of the project's seeds, word for word.
let seedViewModelText = """
    class ViewModel : CyclerType {

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

      private let disposeBag = DisposeBag()

      let state: Storage<State> = .init(.init(count: 0))

      init() {

      }

      func increment(number: Int) {

        // Dispatch Action
        // Action can contain async operation.
        dispatch("increment") { (context) in

          // Context references self weakly.

          Observable.just(())
            .delay(0.1, scheduler: MainScheduler.instance)
            .do(onNext: {

              // Retain references of context
              // So, run operation completely in this scope.
              context.retain { c in

                // Mutation
                // Transaction for mutating.
                c.commit { (state) in
                  // State is MutableStorage.
                  state.updateIfChanged(state.value.count + number, \\.count)
                }

                if c.currentState.count > 10 {
                  // Emit Activity.
                  // Activity just an event that does not need to store to State.
                  c.emit(.didReachBigNumber)
                }
              }
            })
            .subscribe()
          }
          .disposed(by: disposeBag)
      }

      func decrement(number: Int) {

        dispatch("decrement") { _ in
          commit { (state) in
            state.updateIfChanged(state.value.count - number, \\.count)
          }
        }

      }
    }
    """
