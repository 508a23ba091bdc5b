public import Reactors

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A countdown that uses a timer, so that it ends at its time even if the process was restarted.
public struct Countdown: Reactor {
    /// `{"type":"start","seconds":10}`, `{"type":"stop"}`, `{"type":"end"}`
    public enum Action: TaggedCodable, Sendable {
        /// Starts a countdown of 1 to 3600 seconds. It replaces a running one.
        case start(seconds: Int)
        /// Stops the countdown.
        case stop
        /// Ends the countdown. The timer sends this action.
        case end
    }

    /// A change.
    public enum Mutation: TaggedCodable, Sendable {
        /// A countdown has begun.
        case begin(endsAt: Date)
        /// The countdown was stopped.
        case stop
        /// Its time is up.
        case end
    }

    /// The state.
    public struct State: Codable, Sendable {
        /// The time at which the countdown ends; nil if none is running.
        public var endsAt: Date?
        /// The number of countdowns that have ended. Each end is an event.
        @Pulse public var ended = 0
    }

    /// No countdown.
    public let initialState = State()

    /// Makes a reactor for a session.
    public init() {}

    /// The state has the same time as the timer, so that clients can show the remaining time.
    public func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .start(let seconds):
            let endsAt = Date(timeIntervalSinceNow: Double(min(max(seconds, 1), 3_600)))
            return .concat(.just(.begin(endsAt: endsAt)), .schedule("end", at: endsAt, .end))
        case .stop: return .concat(.cancel("end"), .just(.stop))
        // The countdown was stopped before.
        case .end where state.endsAt == nil: return .empty()
        case .end: return .concat(.cancel("end"), .just(.end))
        }
    }

    /// Changes the state in place.
    public func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .begin(let endsAt): state.endsAt = endsAt
        case .stop: state.endsAt = nil
        case .end:
            state.endsAt = nil
            state.ended += 1
        }
    }
}
