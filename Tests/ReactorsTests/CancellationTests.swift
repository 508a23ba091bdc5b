import Reactors
import Testing

@Suite(
    "A cancelled step ends only itself, and cancelling reaches steps that have not begun",
    .timeLimit(.minutes(60)))
struct CancellationTests {
    private let probe = CoreProbe()

    @Test func `steps after a cancelled one still run, after the turn that cancelled it`() {
        probe.perform(.concat(.step("a"), .just("rest")))
        let answer = probe.perform(.concat(.just("1"), .cancel("a"), .just("2")))
        #expect(probe.cancelled == [probe.started[0].id])
        #expect(probe.core.state == ["1", "2", "rest"])
        #expect(answer == .accepted(version: 2, isSettled: true))
        #expect(probe.settled == [ActionTag(1)])
        #expect(probe.log.contains("synchronous part of 2 at 2"))
    }

    @Test func `mutations of a cancelled or ended step are dropped and reported`() {
        probe.perform(.step("a"))
        probe.perform(.step("b"))
        probe.perform(.cancel("a"))
        probe.end(1)
        #expect(!probe.send("late", fromStep: 0))
        #expect(!probe.send("late", fromStep: 1))
        #expect(
            !probe.core.receive(activity: "late", from: probe.started[0], observer: probe))
        #expect(probe.dropped == [.ended, .ended, .ended])
        #expect(probe.core.state.isEmpty)
    }

    @Test func `the end or error of a cancelled step changes nothing`() {
        probe.perform(.concat(.step("a"), .just("rest")))
        probe.perform(.cancel("a"))
        probe.end(0, failure: CancellationError())
        #expect(probe.core.state == ["rest"])
        #expect(probe.failures.isEmpty)
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `case 82: cancelling reaches a step that has not begun`() {
        probe.perform(.concat(.step("first"), .step("timer"), .just("rest")))
        probe.perform(.cancel("timer"))
        #expect(probe.cancelled.isEmpty)
        probe.end(0)
        #expect(probe.started.count == 1)
        #expect(probe.skipped == ["timer cancelledBeforeStart"])
        #expect(probe.core.state == ["rest"])
    }

    @Test func `cancelling does not affect later steps`() {
        probe.perform(.step("other"))
        probe.perform(.cancel("timer"))
        probe.perform(.concat(.step("first"), .step("timer")))
        probe.end(1)
        #expect(probe.started.map(\.effectID) == ["other", "first", "timer"])
    }

    @Test func `a cancel and then a run of the same name in one effect starts a new step`() {
        probe.perform(.step("x"))
        probe.perform(.concat(.cancel("x"), .step("x")))
        #expect(probe.cancelled == [probe.started[0].id])
        #expect(probe.started.count == 2)
        probe.perform(.merge(.cancel("x"), .step("x")))
        #expect(probe.cancelled.count == 2)
        #expect(probe.started.count == 3)
        probe.perform(.concat(.merge(.just("1"), .cancel("x")), .step("y"), .step("x")))
        probe.end(3)
        #expect(probe.started.last?.effectID == "x")
    }

    @Test func `cancelling from one branch of a merge reaches the other's later steps`() {
        probe.perform(
            .merge(
                .concat(.step("a"), .step("x"), .just("a is over")),
                .concat(.step("b"), .cancel("x"))))
        probe.end(1)
        probe.end(0)
        #expect(probe.started.count == 2)
        #expect(probe.core.state == ["a is over"])
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `a cancel inside a merge does not affect steps after it`() {
        probe.perform(
            .concat(
                .merge(
                    .concat(.step("a"), .cancel("x")),
                    .concat(.step("b"), .just("b is over"))),
                .step("x")))
        probe.end(0)
        probe.end(1)
        #expect(probe.started.map(\.effectID) == ["a", "b", "x"])
    }

    @Test func `cancelling all of one name leaves the others`() {
        probe.perform(.merge(.step("x"), .step("y"), .step("x")))
        probe.perform(.cancel("x"))
        #expect(probe.cancelled == [probe.started[0].id, probe.started[2].id])
        #expect(probe.core.runningCount == 1)
    }

    @Test func `case 84: latest cancels the running step`() {
        for query in ["a", "ab", "abc"] {
            probe.perform(.concat(.step("search", .latest), .just("\(query) is over")))
        }
        #expect(probe.cancelled == probe.started.prefix(2).map(\.id))
        #expect(!probe.send("a", fromStep: 0))
        #expect(probe.send("abc", fromStep: 2))
        probe.end(2)
        #expect(probe.core.state == ["a is over", "ab is over", "abc", "abc is over"])
    }

    @Test func `case 85: first skips a new step while one runs`() {
        probe.perform(.step("page", .first))
        probe.perform(.concat(.step("page", .first), .just("continues")))
        #expect(probe.started.count == 1)
        #expect(probe.skipped == ["page first"])
        #expect(probe.core.state == ["continues"])
        probe.end(0)
        probe.perform(.step("page", .first))
        #expect(probe.started.count == 2)
    }

    @Test func `merge lets all steps run`() {
        probe.perform(.step("x"))
        probe.perform(.step("x"))
        #expect(probe.cancelled.isEmpty)
        #expect(probe.core.runningCount == 2)
    }

    @Test func `ending the session cancels all steps, continues none and refuses actions`() {
        probe.perform(.concat(.step("a"), .just("never")))
        probe.perform(.step("b"))
        probe.core.end(observer: probe)
        #expect(probe.cancelled == probe.started.map(\.id))
        #expect(probe.settled == [ActionTag(1), ActionTag(2)])
        #expect(probe.perform(.just("x")) == .ended)
        #expect(!probe.send("x", fromStep: 1))
        probe.core.receive(fromSource: "x", observer: probe)
        #expect(probe.core.state.isEmpty)
        #expect(probe.dropped == [.ended, .ended])
        probe.core.end(observer: probe)
        #expect(probe.cancelled.count == 2)
    }

    @Test func `cancelled names are forgotten when no older step remains`() {
        probe.perform(.concat(.step("long"), .step("name-7"), .just("long is over")))
        for number in 0..<1000 { probe.perform(.cancel("name-\(number)")) }
        probe.end(0)
        #expect(probe.skipped == ["name-7 cancelledBeforeStart"])
        #expect(probe.core.state == ["long is over"])
        probe.perform(.step("name-8"))
        #expect(probe.started.last?.effectID == "name-8")
    }
}
