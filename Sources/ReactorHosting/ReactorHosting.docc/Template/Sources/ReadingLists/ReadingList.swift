package import Reactors

/// A session is the reading list of a group. Replace it by a reactor of your own.
package struct ReadingList: Reactor {
    package enum Action: TaggedCodable, Equatable, Sendable {
        case add(title: String)
        case finish(title: String)
    }

    package struct State: Codable, Equatable, Sendable {
        package var unread: [String] = []
        package var finishedCount = 0
        /// The title that was finished last. Each assignment is an event.
        @Pulse package var finished: String?
    }

    package let initialState = State()

    package init() {}

    package func mutate(state: State, action: Action) -> Effect<Action> {
        switch action {
        case .add(let title) where title.isEmpty || title.utf8.count > 200:
            .refuse("title_length", "A title has 1 to 200 bytes.")
        case .add(let title) where state.unread.contains(title):
            .refuse("on_the_list", "\(title) is on the list.")
        case .add where state.unread.count >= 100:
            .refuse("list_full", "A list has at most 100 unread titles.")
        case .finish(let title) where !state.unread.contains(title):
            .refuse("not_on_the_list", "\(title) is not on the list.")
        case .add, .finish: .just(action)
        }
    }

    package func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .add(let title): state.unread.append(title)
        case .finish(let title):
            state.unread.removeAll { $0 == title }
            state.finishedCount += 1
            state.finished = title
        }
    }
}
