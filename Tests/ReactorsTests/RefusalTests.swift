import Reactors
import TestStreams
import Testing

@Suite("A refused action leaves no trace", .timeLimit(.minutes(60)))
struct RefusalTests {
    private static let no = Refusal("no", "No.")

    private static func refused(at version: UInt64) -> SendResult {
        SendResult(accepted: false, version: version, refusal: no)
    }

    @Test func `mutations and activities before it are taken back, and no reader sees them`()
        async throws
    {
        let host = ReactorHost(ScriptReactor())
        await host.perform(.just("1"))
        var states = Reading(await host.state())
        var activities = Reading(await host.activities())
        var failures = Reading(await host.failures())
        var log = Reading(await host.log())
        #expect(
            await host.perform(
                .concat(
                    .just("lost"), .emit("lost"), .of("lost", "lost"), .refuse("no", "No."),
                    .just("never"))) == Self.refused(at: 1))
        #expect(await host.currentState == ["1"])
        #expect(await host.version == 1)
        await host.perform(.concat(.just("2"), .emit("seen"), .error(Mishap())))
        #expect(try await states.next(2) == [["1"], ["1", "2"]])
        #expect(try await activities.next(1) == ["seen"])
        #expect(try await failures.next(1).map(\.action.number) == [2], "it has no number")
        let entries = try await log.next(4)
        #expect(entries.map(\.text) == ["received", "2 2", "activity seen", "failed"])
        #expect(entries.map(\.position.description) == ["2.1", "2", "3", "4"])
        #expect(entries.map(\.action) == [2, 2, 2, 2])
    }

    @Test func `what an action that is not refused does is seen in its order`() async throws {
        let host = ReactorHost(ScriptReactor())
        var states = Reading(await host.state())
        var log = Reading(await host.log())
        await host.perform(.concat(.just("1"), .deferred { .just("\($0.count + 1)") }, .emit("a")))
        #expect(try await states.next(3) == [[], ["1"], ["1", "2"]])
        #expect(
            try await log.next(4).map(\.text) == ["received", "1 1", "2 2", "activity a"])
    }

    @Test func `no step of it begins, and a step that it cancels or replaces continues`() async {
        let host = ReactorHost(ScriptReactor())
        let (gate, other) = (Gate(), Gate())
        await host.perform(
            .concat(
                .run(id: "a") { sink in
                    await gate.pass()
                    await sink(Task.isCancelled ? "cancelled" : "a")
                }, .just("after")))
        await gate.hasArrivals(1)
        for policy in [EffectPolicy.merge, .latest] {
            #expect(
                await host.perform(
                    .merge(
                        .run(id: "a", policy: policy) { _ in await other.pass() }, .cancel("a"),
                        .refuse("no", "No."))) == Self.refused(at: 0))
        }
        // A step that begins later is the sentinel.
        await host.perform(.run { _ in await gate.pass() })
        await gate.hasArrivals(2)
        gate.open()
        other.open()
        await host.settled()
        #expect(other.arrivals == 0)
        #expect(await host.currentState == ["a", "after"])
        #expect(await host.runningCount.steps == 0)
    }

    @Test func `a refusal that a deferred or a nested effect returns is the same`() async {
        let host = ReactorHost(ScriptReactor())
        let no = Self.no
        let effects: [@Sendable () -> ScriptEffect] = [
            { .refuse("no", "No.") }, { .error(no) }, { .deferred { _ in throw no } },
            { .deferred { _ in .concat(.just("lost"), .refuse("no", "No.")) } },
            { .merge(.just("lost"), .concat(.just("lost"), .merge(.empty(), .error(no)))) },
            { ScriptEffect.refuse("no", "No.").map { $0 + "!" } },
        ]
        for effect in effects {
            let action = ScriptReactor.Action(effect: effect)
            #expect(await host.send(action) == Self.refused(at: 0))
        }
        #expect(await host.perform(.just("1")) == SendResult(accepted: true, version: 1))
        #expect(await host.currentState == ["1"])
    }

    @Test func `after a wait, and in another action's turn, it is a failure`() async throws {
        let host = ReactorHost(ScriptReactor())
        var failures = Reading(await host.failures())
        let (gate, other) = (Gate(), Gate())
        await host.perform(
            .concat(.just("1"), .run { _ in await gate.pass() }, .refuse("no", "No.")))
        gate.open()
        await host.settled()
        await host.perform(.concat(.run(id: "a") { _ in await other.pass() }, .refuse("no", "No.")))
        await other.hasArrivals(1)
        #expect(await host.perform(.cancel("a")) == SendResult(accepted: true, version: 1))
        other.open()
        let seen = try await failures.next(2)
        #expect(seen.map(\.action.number) == [1, 2])
        #expect(seen.allSatisfy { $0.place == .effect && $0.error as? Refusal == Self.no })
        #expect(await host.currentState == ["1"])
    }

    private struct Guarded: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        typealias State = Int

        var initialState: Int { 0 }
        var more: AsyncStream<Int> = AsyncStream { $0.finish() }
        var present: Int?

        var sources: [Source] { [.actions(more, present: present)] }

        func transform(action: Int) throws -> Int? {
            switch action {
            case ..<0: throw Refusal("negative", "\(action) is negative.")
            case 0: throw Mishap()
            case 1: return nil
            default: return action
            }
        }

        func mutate(state: Int, action: Int) -> Effect<Int> {
            action > 100 ? .concat(.just(action), .error(Mishap())) : .just(action)
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    @Test func `a hook refuses, rejects with its error, or rejects`() async throws {
        let host = ReactorHost(Guarded())
        var log = Reading(await host.log())
        #expect(
            await host.send(-1)
                == SendResult(
                    accepted: false, version: 0,
                    refusal: Refusal("negative", "-1 is negative.")))
        #expect(
            await host.send(0)
                == SendResult(accepted: false, version: 0, failure: "Mishap()"))
        #expect(await host.send(1) == SendResult(accepted: false, version: 0))
        #expect(
            await host.send(101) == SendResult(accepted: true, version: 1, failure: "Mishap()"))
        #expect(await host.send(2) == SendResult(accepted: true, version: 2))
        let texts = try await log.next(4).map(\.text).filter { !$0.contains("source") }
        #expect(texts.prefix(3) == ["hook transformAction", "rejected 0", "rejected 1"])
    }

    @Test func `the refused action of a source is a failure`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let host = ReactorHost(Guarded(more: stream, present: -5))
        var failures = Reading(await host.failures())
        var states = Reading(await host.state())
        continuation.yield(-7)
        continuation.yield(7)
        #expect(try await states.next(2) == [0, 7])
        let failure = try #require(try await failures.next(1).first)
        #expect(failure.place == .source && failure.source == "actions")
        #expect(failure.error as? Refusal == Refusal("negative", "-7 is negative."))
    }

    @Test func `a state that cannot be shown is reported, although one before it was taken back`()
        async throws
    {
        let host = ReactorHost(Veiled())
        var states = Reading(await host.state())
        var failures = Reading(await host.failures())
        #expect(await host.send(-1).refusal == Self.no)
        await host.send(1)
        // The sentinel.
        await host.send(0)
        #expect(try await failures.next(1).map(\.place) == [.transformState])
        #expect(try await states.next(2) == [0, 1])
    }

    /// Shows no state but the first one.
    private struct Veiled: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        typealias State = Int

        let initialState = 0

        func transform(state: Int) throws -> Int {
            if state > 0 { throw Mishap() }
            return state
        }

        func mutate(state: Int, action: Int) -> Effect<Int> {
            switch action {
            case ..<0: .concat(.just(-action), .refuse("no", "No."))
            case 0: .error(Mishap())
            default: .just(action)
            }
        }

        func reduce(state: inout Int, mutation: Int) { state += mutation }
    }

    @Test(arguments: ["", "No", "no!", "ä", "a b", String(repeating: "a", count: 65)])
    func `a code that is none refuses too, and the detail names it`(code: String) {
        let refusal = Refusal(code, "No.")
        #expect(refusal.code == "bad_refusal_code")
        #expect(
            refusal.detail
                == "the reactor has refused with the code \"\(code)\", which is not 1 to 64 "
                + "characters of a-z 0-9 _: No.")
    }

    @Test func `a detail is cut between two characters`() {
        #expect(Refusal("no", String(repeating: "x", count: 1_024)).detail.utf8.count == 1_024)
        // 25 bytes each.
        let family = "👨‍👩‍👧‍👦"
        let detail = Refusal("no", String(repeating: family, count: 50)).detail
        #expect(detail == String(repeating: family, count: 1_024 / family.utf8.count))
        #expect(Refusal(String(repeating: "a", count: 64), "").description.hasSuffix("a: "))
    }
}
