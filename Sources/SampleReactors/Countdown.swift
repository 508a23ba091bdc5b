public import Reactors

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A countdown that ends at its time, also if the process was restarted meanwhile: a timer.
public struct Countdown: Reactor {
    /// `{"type":"start","seconds":10}`, `{"type":"stop"}`, `{"type":"end"}`
    public enum Action: TaggedCodable, Sendable {
        /// Starts one of the given number of seconds, 1 to 3600; replaces a running one.
        case start(seconds: Int)
        /// Stops it.
        case stop
        /// Ends it. The timer sends this action.
        case end
    }

    /// A change.
    public enum Mutation: TaggedCodable, Sendable {
        /// A countdown has begun.
        case begin(endsAt: Date)
        /// It has been stopped.
        case stop
        /// Its time is up.
        case end
    }

    /// The state.
    public struct State: Codable, Sendable {
        /// The time at which the countdown ends; nil if none is running.
        public var endsAt: Date?
        /// The number of countdowns that have ended; an event for each.
        @Pulse public var ended = 0
    }

    /// No countdown.
    public let initialState = State()

    /// Makes a reactor for a session.
    public init() {}

    /// The state has the same time as the timer, so that clients can show what is left.
    public func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .start(let seconds):
            let endsAt = Date(timeIntervalSinceNow: Double(min(max(seconds, 1), 3_600)))
            return .concat(.just(.begin(endsAt: endsAt)), .schedule("end", at: endsAt, .end))
        case .stop: return .concat(.cancel("end"), .just(.stop))
        // One that was stopped.
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
