internal import JSONCoding
package import Reactors

/// The states of one session, with their types: the confirmed one, and the one that is shown.
///
/// Design: the machine decides which actions are missing in the confirmed state, and knows bytes only.
/// This value applies its deliveries, in their order. It has the types of a session, not a reactor: a
/// program may have the shapes alone.
package struct Projection<Action: Decodable, State: Decodable> {
    /// A value of the server that this program cannot decode (R9).
    package struct Undecodable: Error, Equatable, Sendable {
        /// A sentence that names the place and the fault.
        package let reason: String
    }

    /// The newest state of the server that could be decoded.
    package private(set) var confirmed: State?
    /// `confirmed` with the unconfirmed actions of this program reduced over it (R3).
    package private(set) var shown: State?
    /// Why the newest state of the server is not `confirmed`; nil while it is.
    package private(set) var undecodable: Undecodable?
    /// The confirmed state below the unconfirmed actions; older than `confirmed` while the machine
    /// holds the shown state.
    private var base: State?
    /// Invariant: in the order of their tickets.
    private var overlay: [(ticket: Ticket, actions: [Action])] = []
    /// Nil to predict nothing.
    private let prediction: ((State, Action) -> State)?

    /// Predicts nothing.
    package init() { prediction = nil }

    /// - Parameter reactor: an instance that is used for nothing else.
    package init<R: Reactor>(predicting reactor: R) where R.Action == Action, R.State == State {
        prediction = Predictor(reactor).predict
    }

    /// Decodes a confirmed state. One that cannot be decoded changes nothing but ``undecodable``.
    package mutating func confirm(_ state: [UInt8]) {
        do {
            confirmed = try JSON.decode(State.self, from: state)
            undecodable = nil
        } catch {
            undecodable = Undecodable(reason: error.sentence)
        }
    }

    /// Makes the shown state anew.
    package mutating func show(_ change: ShownChange) {
        if change.advancesBase { base = confirmed }
        if !change.left.isEmpty {
            let left = Set(change.left)
            overlay.removeAll { left.contains($0.ticket) }
        }
        let joined = change.joined.map { (ticket: $0.ticket, actions: Self.decode($0.actions)) }
        let isLast = (joined.first?.ticket).map { $0 > overlay.last?.ticket ?? Ticket(0) } ?? true
        overlay += joined
        if !isLast { overlay.sort { $0.ticket < $1.ticket } }
        guard let base else { return }
        let isAppended = !change.advancesBase && change.left.isEmpty && isLast
        shown = (isAppended ? joined : overlay).reduce((isAppended ? shown : nil) ?? base) {
            predict($0, $1.actions)
        }
    }

    private func predict(_ state: State, _ actions: [Action]) -> State {
        guard let prediction else { return state }
        return actions.reduce(state, prediction)
    }

    /// The actions that this program knows: an outbox may have others, of an earlier program. They are
    /// sent, but not predicted.
    private static func decode(_ actions: [[UInt8]]) -> [Action] {
        actions.compactMap { try? JSON.decode(Action.self, from: $0) }
    }
}
