import ReactorTesting
import Reactors
import Sessions
import Storage
import Synchronization
import Testing

/// Its calls fail the first time.
private struct Payer: Reactor {
    enum Action: TaggedCodable, Sendable { case pay, mark }
    enum Mutation: TaggedCodable, Sendable { case paid, marked }
    struct State: Codable, Sendable {
        var paid = 0
        var marks = 0
    }

    struct Fault: Error {}

    final class Calls: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    let calls: Calls
    let initialState = State()

    func recovery(of action: Action, after interruption: Interruption) -> Recovery {
        .runAgain(after: .seconds(10))
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        guard action == .pay else { return .just(.marked) }
        return .concat(
            .run { [calls] _ in if calls.next() == 1 { throw Fault() } }, .just(.paid))
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .paid: state.paid += 1
        case .marked: state.marks += 1
        }
    }
}

@Suite("A pause of a session in a journal", .timeLimit(.minutes(60)))
struct PauseTests {
    private static func registration(_ clock: ManualClock) throws -> Registration {
        let calls = Payer.Calls()
        return try .of("payer", clock: clock) { Payer(calls: calls) }
    }

    @Test func `with numbers that no program has written ends no process`() async throws {
        await #expect(processExitsWith: .success) {
            let clock = ManualClock()
            let registration = try Self.registration(clock)
            let rig = Rig(answers: true, registrations: [registration])
            try rig.act(Post.plain("pay"), on: rig.create("s", registration))
            await rig.work { rig.output.failures.count == 1 }
            await clock.waitForSleepers(1)
            rig.table.stop()
            rig.journal.edit { kept in
                for index in kept.started.indices {
                    kept.started[index].begun = .max
                    kept.started[index].attempt = .max
                }
            }
            let next = Rig(journal: rig.journal, registrations: [registration])
            _ = try next.wake("s")
            next.settleAll()
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(10))
            await next.work { next.journal.kept.contains { $0.kind == .mutation } }
        }
    }
}
