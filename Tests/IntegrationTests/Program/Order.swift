import ReactorHosting
import Reactors

/// An order that a program's payment consumer posts to.
struct Order: Reactor {
    enum Action: TaggedCodable, Sendable {
        case pay(String)
        case close
        case note(String)
    }

    enum Mutation: TaggedCodable, Sendable {
        case paid(String, by: String?)
        case closed
        case heard(String)
    }

    enum Activity: TaggedCodable, Sendable, Equatable {
        case noted(String)
    }

    struct State: Codable, Sendable, Equatable {
        var payments: [String] = []
        var payers: [String] = []
        var isClosed = false
        var news: [String] = []
        @Pulse var confirmation: String?

        static func == (one: State, other: State) -> Bool {
            one.payments == other.payments && one.payers == other.payers
                && one.isClosed == other.isClosed && one.news == other.news
                && one.confirmation == other.confirmation
        }
    }

    static let news = Topic<String>("order-news")

    let initialState = State()
    var sources: [Source] { [.mutations(topic: Self.news) { .heard($0) }] }

    func mutate(state: State, action: Action, subject: String?) -> Effect<Mutation> {
        switch action {
        case .pay where state.isClosed: .refuse("closed", "The order is closed.")
        case .pay(let payment): .just(.paid(payment, by: subject))
        case .close: .just(.closed)
        case .note(let text): .emit(.noted(text))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .paid(let payment, let payer):
            state.payments.append(payment)
            if let payer { state.payers.append(payer) }
            state.confirmation = payment
        case .closed: state.isClosed = true
        case .heard(let text): state.news.append(text)
        }
    }
}

/// Shows the input with which its session was created.
struct Lot: Reactor {
    struct Input: Codable, Sendable {
        var name: String
        var price: Int?
    }

    struct Shown: Codable, Sendable, Equatable {
        var id: String
        var name: String
        var price: Int?
        var owner: String?
    }

    struct State: Codable, Sendable { var shown: Shown? }

    typealias Action = Never

    let shown: Shown
    let initialState = State()

    init(_ session: SessionIdentity<Input>) {
        let (input, owner) = (session.input, session.owner)
        shown = Shown(id: session.id, name: input.name, price: input.price, owner: owner)
    }

    /// Uses the reactor's own properties, which no journal has.
    func transform(state: State) -> State { State(shown: shown) }
}
