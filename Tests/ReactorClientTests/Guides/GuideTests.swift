import Observation
import Reactors
import Testing

@testable import ReactorClient

/// The model of the guide Views, as it stands there.
@MainActor @Observable
private final class Watching<S: ReactorStore> {
    private(set) var state: S.R.State
    private(set) var failure: String?
    let store: S

    init(_ store: S) async {
        self.store = store
        state = await store.currentState
    }

    /// Keeps the state current; a view calls it in `.task`, which cancels it.
    func watch() async {
        do {
            for try await state in await store.state(buffer: 16) { self.state = state }
        } catch {
            // This view was 16 states behind: it begins again with the present one.
            await watch()
        }
    }

    func send(_ action: S.R.Action) async {
        do { try await store.send(action) } catch { failure = "\(error)" }
    }
}

@Suite("the guide's model of a view", .timeLimit(.minutes(60)))
@MainActor
struct GuideTests {
    @Test func `it shows a session of a host and of a server`() async throws {
        let host = await Watching(ReactorHost(Adding()))
        await host.send(.add(number: 2))
        #expect(await shown(by: host) { $0.count == 2 })

        let rig = try Rig()
        let (room, _) = try await rig.room(tally(5))
        let remote = await Watching(room)
        #expect(remote.state.count == 5)
        let sending = Task { await remote.send(.add(number: 2)) }
        #expect(await shown(by: remote) { $0.count == 7 })
        await rig.transport.request().problem(403, "forbidden")
        await sending.value
        #expect(remote.failure?.contains("forbidden!") == true)
        #expect(await shown(by: remote) { $0.count == 5 })
        await rig.client.close()
    }

    private func shown<S: ReactorStore>(
        by model: Watching<S>, _ isWanted: @escaping @MainActor (S.R.State) -> Bool
    ) async -> Bool {
        let watching = Task { await model.watch() }
        defer { watching.cancel() }
        while !isWanted(model.state) {
            let (changes, change) = AsyncStream<Void>.makeStream()
            withObservationTracking {
                _ = model.state
            } onChange: {
                change.finish()
            }
            if isWanted(model.state) { break }
            for await _ in changes {}
        }
        return isWanted(model.state)
    }
}

private struct Adding: Reactor {
    typealias Action = Tally.Action
    struct State: Sendable { var count = 0 }
    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        if case .add(let number) = mutation { state.count += number }
    }
}
