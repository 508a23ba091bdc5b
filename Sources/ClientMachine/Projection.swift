internal import JSONCoding
package import Reactors

/// The states of one session, with their types: the confirmed one, and the one that is shown.
///
/// Design: the machine decides which actions are missing in the confirmed state, and knows bytes
/// only. This value applies its deliveries, with a session's types and perhaps without a reactor.
package struct Projection<Action: Decodable, State: Decodable> {
    /// A value of the server that this program cannot decode (R9).
    package struct Undecodable: Error, Equatable, Sendable {
        /// A sentence that names the place and the fault.
        package let reason: String
    }

    /// The newest state of the server that could be decoded.
    package private(set) var confirmed: State?
    /// Why the newest state of the server is not `confirmed`; nil while it is.
    package private(set) var undecodable: Undecodable?
    /// The confirmed state below the unconfirmed actions; older than `confirmed` while the machine
    /// holds the shown state.
    private var base: State?
    /// The actions as JSON. Invariant: in the order of their tickets.
    private var overlay: [(ticket: Ticket, actions: [[UInt8]])] = []
    /// `base` with the first `madeCount` of `overlay` reduced over it; nil: it is made from `base`.
    private var made: State?
    private var madeCount = 0
    /// Nil to predict nothing. Its result is nil if the reactor refuses the action.
    private let prediction: ((State, Action) -> State?)?

    package init() { prediction = nil }

    /// Reduces an action over a state as the server's session would: the reactor's own synchronous
    /// part, and nothing else (R4). Steps are not started, activities not delivered, and sources
    /// not opened: events come from the server alone (R5).
    ///
    /// - Parameter reactor: an instance that is used for nothing else.
    package init<R: Reactor>(predicting reactor: R) where R.Action == Action, R.State == State {
        let observer = Ignoring<R>()
        prediction = { state, action in
            // A core for each action: a step of an earlier one that never ends must not change what
            // an effect of this one does.
            let core = ReactorCore(reactor: reactor, state: state)
            switch core.receive(action, tag: ActionTag(1), observer: observer) {
            case .refused: return nil
            case .accepted, .rejected, .ended: return core.state
            }
        }
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

    /// Changes the shown state, which is not made before somebody asks for it: a prediction of
    /// which the confirmation is there already costs nothing.
    package mutating func show(_ change: ShownChange) {
        if change.advancesBase {
            base = confirmed
            forgetMade()
        }
        if !change.left.isEmpty {
            let left = Set(change.left)
            overlay.removeAll { left.contains($0.ticket) }
            forgetMade()
        }
        guard let first = change.joined.first else { return }
        let isLast = overlay.last.map { $0.ticket < first.ticket } ?? true
        overlay += change.joined.map { (ticket: $0.ticket, actions: $0.actions) }
        guard !isLast else { return }
        overlay.sort { $0.ticket < $1.ticket }
        forgetMade()
    }

    private mutating func forgetMade() { (made, madeCount) = (nil, 0) }

    package var isShown: Bool { base != nil }

    /// `confirmed` with the unconfirmed actions of this program reduced over it (R3).
    package var shown: State? {
        var projection = self
        return projection.makeShown()
    }

    /// It is kept: of a state that is made again, only what joined since is reduced.
    package mutating func makeShown() -> State? {
        guard let base else { return nil }
        let state = overlay[madeCount...].reduce(made ?? base) {
            predict($0, $1.actions)
        }
        (made, madeCount) = (state, overlay.count)
        return state
    }

    private func predict(_ state: State, _ actions: [[UInt8]]) -> State {
        guard let prediction else { return state }
        var predicted = state
        for action in Self.decode(actions) {
            // The server will refuse the whole send.
            guard let next = prediction(predicted, action) else { return state }
            predicted = next
        }
        return predicted
    }

    /// The actions that this program knows: an outbox may have others, of an earlier program. They
    /// are sent, but not predicted.
    private static func decode(_ actions: [[UInt8]]) -> [Action] {
        actions.compactMap { try? JSON.decode(Action.self, from: $0) }
    }
}

/// Carries out nothing.
private final class Ignoring<R: Reactor>: ReactorCoreObserver {
    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {}
    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {}
    func failed(_ failure: ReactorFailure) {}
    func start(_ run: EffectRun<R>) {}
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {}
    func settled(_ action: ActionTag) {}
}
