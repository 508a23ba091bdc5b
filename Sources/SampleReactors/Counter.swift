public import Reactors

/// A number that goes up and down.
public struct Counter: Reactor {
    /// `{"type":"increment","number":5}`, `{"type":"decrement","number":5}`
    public enum Action: TaggedCodable, Sendable {
        /// Adds; stops at the greatest number there is.
        case increment(number: Int)
        /// Subtracts; stops at the least number there is.
        case decrement(number: Int)
    }

    /// What is seen.
    public struct State: Codable, Sendable {
        /// The number.
        public var count = 0
    }

    /// Zero.
    public let initialState = State()

    /// Makes one for a session.
    public init() {}

    /// The actions are the mutations; numbers saturate instead of trapping: they come from
    /// strangers.
    public func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .increment(let number):
            let (sum, overflow) = state.count.addingReportingOverflow(number)
            state.count = overflow ? (number > 0 ? .max : .min) : sum
        case .decrement(let number):
            let (difference, overflow) = state.count.subtractingReportingOverflow(number)
            state.count = overflow ? (number > 0 ? .min : .max) : difference
        }
    }
}
