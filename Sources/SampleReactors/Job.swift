public import Reactors

/// Long-running work that reports its progress, can be cancelled, and has two policies: the latest
/// start wins, or the first one does.
public struct Job: Reactor {
    /// `{"type":"start","steps":10}`, `{"type":"startIfIdle","steps":10}`, `{"type":"cancel"}`
    public enum Action: TaggedCodable, Sendable {
        /// Starts a job of the given number of steps, 1 to 1000 of 100 ms each; cancels a running
        /// one.
        case start(steps: Int)
        /// Starts one only if none is running.
        case startIfIdle(steps: Int)
        /// Cancels the running job.
        case cancel
    }

    /// A change.
    public enum Mutation: TaggedCodable, Sendable {
        /// A job has begun, of the given number of steps.
        case begin(steps: Int)
        /// The number of finished steps.
        case advance(done: Int)
        /// All steps are done.
        case finish
        /// The job was cancelled.
        case giveUp
    }

    /// The phase of a job.
    public enum Phase: String, Codable, Sendable {
        /// No job was started yet.
        case idle
        /// The job is running.
        case running
        /// The job has ended by itself.
        case finished
        /// The job was cancelled.
        case cancelled
    }

    /// The state.
    public struct State: Codable, Sendable {
        /// The phase of the current job; an event each time a job starts or ends.
        @Pulse public var phase = Phase.idle
        /// The number of finished steps; an event for each.
        @Pulse public var progress = 0
        /// The total number of steps.
        public var steps = 0
    }

    /// No job.
    public let initialState = State()

    /// `GET /v1/sessions?tag=phase:running` lists the running jobs.
    public static func tags(of state: State) -> Tags { ["phase": state.phase.rawValue] }

    /// Makes a reactor for a session.
    public init() {}

    /// A running job is cancelled by its id, `work`.
    public func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .start(let steps):
            return work(steps, .latest)
        case .startIfIdle(let steps):
            return state.phase == .running ? .empty() : work(steps, .first)
        case .cancel:
            guard state.phase == .running else { return .empty() }
            return .concat(.cancel("work"), .just(.giveUp))
        }
    }

    private func work(_ wanted: Int, _ policy: EffectPolicy) -> Effect<Mutation> {
        let steps = min(max(wanted, 1), 1_000)
        return .concat(
            .just(.begin(steps: steps)),
            .run(id: "work", policy: policy) { send in
                for done in 1...steps {
                    try await send.clock.sleep(for: .milliseconds(100))
                    await send(.advance(done: done))
                }
                await send(.finish)
            })
    }

    /// Changes the state in place.
    public func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .begin(let steps):
            state.steps = steps
            state.progress = 0
            state.phase = .running
        case .advance(let done): state.progress = done
        case .finish: state.phase = .finished
        case .giveUp: state.phase = .cancelled
        }
    }
}
