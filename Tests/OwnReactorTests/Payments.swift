import ReactorHosting
import Reactors

struct Order: Reactor {
    enum Action: TaggedCodable { case pay(id: String, amount: Int) }
    struct State: Codable {
        var due = 100
        @Pulse var confirmation: String?
    }
    let initialState = State()

    func mutate(state: State, action: Action) -> Effect<Action> {
        switch action {
        case .pay(_, let amount) where amount > state.due:
            .refuse("too_much", "\(state.due) are due.")
        case .pay: .just(action)
        }
    }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .pay(let id, let amount):
            state.due -= amount
            state.confirmation = id
        }
    }
}

/// A message of a queue that delivers each message at least once.
struct Payment: Sendable {
    let id: String
    let order: String
    let amount: Int
    let acknowledge: @Sendable () async -> Void
}

func serve(
    _ server: ReactorServer, payments: some AsyncSequence<Payment, Never> & Sendable
) async throws {
    try await server.run { server in
        for await payment in payments {
            let order = try server.session(payment.order, of: Order.self)
            let action = Order.Action.pay(id: payment.id, amount: payment.amount)
            let result = try await order.send(action, key: payment.id)
            if let refusal = result.refusal { print("\(payment.id) is refused: \(refusal)") }
            await payment.acknowledge()
        }
    }
}
