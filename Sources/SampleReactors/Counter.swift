public import Cyclers
public import Reactors

/// A number that goes up and down, written as a Cycler.
public final class Counter: ActionCycler {
    /// `{"type":"increment","number":5}`, `{"type":"decrement","number":5}`
    public enum Action: TaggedCodable, Sendable {
        /// Adds; saturates at the maximum.
        case increment(number: Int)
        /// Subtracts; saturates at the minimum.
        case decrement(number: Int)
    }

    /// An event that is sent and not stored.
    public enum Activity: TaggedCodable, Sendable {
        /// The count was incremented beyond ten.
        case didReachBigNumber
    }

    /// The state.
    public struct State: Codable, Sendable {
        /// The number.
        public fileprivate(set) var count = 0
    }

    /// Zero.
    public let state: Storage<State> = .init(.init())

    /// Makes a cycler for a session.
    public init() {}

    /// Calls the method that the action names.
    public func receive(_ action: Action) async throws {
        switch action {
        case .increment(let number): increment(number: number)
        case .decrement(let number): decrement(number: number)
        }
    }

    /// Adds, and emits an activity when the result is beyond ten.
    public func increment(number: Int) {
        dispatch("increment") { context in
            context.commit { state in
                state.updateIfChanged(state.value.count.adding(number), \.count)
            }
            if context.currentState.count > 10 { context.emit(.didReachBigNumber) }
        }
    }

    /// Subtracts.
    public func decrement(number: Int) {
        dispatch("decrement") { context in
            context.commit { state in
                state.updateIfChanged(state.value.count.subtracting(number), \.count)
            }
        }
    }
}

// Numbers saturate instead of trapping, because they come from clients.
extension Int {
    fileprivate func adding(_ number: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(number)
        return overflow ? (number > 0 ? .max : .min) : sum
    }

    fileprivate func subtracting(_ number: Int) -> Int {
        let (difference, overflow) = subtractingReportingOverflow(number)
        return overflow ? (number > 0 ? .min : .max) : difference
    }
}
