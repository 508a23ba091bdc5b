/// The reactor of the project's seeds, word for word.
let seedReactorText = """
      // Reactor
      private final class MyReactor: Reactor {
        struct State {
          @Pulse var alertMessage: String?
        }

        func mutate(action: Action) -> Observable<Mutation> {
          switch action {
          case let .alert(message):
            return Observable.just(Mutation.setAlertMessage(message))
          }
        }

        func reduce(state: State, mutation: Mutation) -> State {
          var newState = state

          switch mutation {
          case let .setAlertMessage(alertMessage):
            newState.alertMessage = alertMessage
          }

          return newState
        }
      }
    """
