import ReactorTesting
import Reactors
import Testing

@Suite("A driver fails on everything that was not asserted", .timeLimit(.minutes(60)))
struct TestDriverTests {
    private let reports = Reports()

    private func makeDriver(
        _ reactor: sending CounterReactor = CounterReactor()
    ) -> TestDriver<CounterReactor> {
        TestDriver(reactor, report: reports.add)
    }

    private func increase(_ driver: TestDriver<CounterReactor>, to value: Int) async {
        await driver.send(.increase) { $0.isLoading = true }
        await driver.advance(by: .milliseconds(500))
        await driver.receive(.increaseValue) { $0.value = value }
        await driver.receive(.setLoading(false)) { $0.isLoading = false }
        await driver.receive(.setAlert("increased!")) { $0.alert = "increased!" }
    }

    @Test func `case 53: a full assertion is not reported`() async {
        let driver = makeDriver()
        await increase(driver, to: 1)
        await increase(driver, to: 2)
        await driver.receive(activity: .big(2))
        await driver.sendRejected(.refused)
        #expect(await driver.sendRefused(.decline, "declined")?.detail == "Not now.")
        await driver.send(.fail)
        await driver.receive(failureOf: .effect)
        #expect(driver.state.value == 2)
        await driver.finish()
        #expect(reports.messages.isEmpty)
        #expect(!(await driver.host.send(.stop).accepted))
    }

    @Test func `a wrong state is reported once, and the driver continues from the real one`()
        async
    {
        let driver = makeDriver()
        await driver.send(.increase) { $0.value = 7 }
        #expect(reports.messages.count == 1)
        #expect(
            reports.messages[0] == """
                The state after sending increase is not as expected.
                value: expected 7, actual 0
                isLoading: expected false, actual true
                """)
        await driver.advance(by: .milliseconds(500))
        await driver.receive(.increaseValue)
        #expect(reports.messages.count == 2)
        await driver.receive(.setLoading(false)) { $0.isLoading = false }
        await driver.receive(.setAlert("increased!")) { $0.alert = "increased!" }
        await driver.finish()
        #expect(reports.messages.count == 2)
    }

    @Test func `an assigned pulse is part of the state, even with an equal value`() async {
        let driver = makeDriver()
        await increase(driver, to: 1)
        await driver.send(.increase) { $0.isLoading = true }
        await driver.advance(by: .milliseconds(500))
        await driver.receive(.increaseValue) { $0.value = 2 }
        await driver.receive(.setLoading(false)) { $0.isLoading = false }
        await driver.receive(.setAlert("increased!"))
        #expect(
            reports.messages == [
                """
                The state after setAlert("increased!") is not as expected.
                alert: expected 1 assignment, actual 2 assignments, of "increased!"
                """
            ])
        await driver.receive(activity: .big(2))
        await driver.finish()
        #expect(reports.messages.count == 1)
    }

    @Test func `unasserted events are reported at the next send and at the end`()
        async
    {
        let driver = makeDriver()
        await driver.send(.increase) { $0.isLoading = true }
        await driver.advance(by: .milliseconds(500))
        await driver.host.settled()
        await driver.send(.fail)
        #expect(
            reports.messages == [
                "Not asserted: the mutation increaseValue.",
                "Not asserted: the mutation setLoading(false).",
                "Not asserted: the mutation setAlert(\"increased!\").",
            ])
        #expect(driver.state.value == 1)
        await driver.finish()
        #expect(reports.messages.count == 4)
        #expect(reports.messages[3].hasPrefix("Not asserted: a failure of effect: Mishap"))
    }

    @Test func `an event other than the asserted one is reported`() async {
        let driver = makeDriver()
        await driver.send(.increase) { $0.isLoading = true }
        await driver.advance(by: .milliseconds(500))
        await driver.receive(.setLoading(false))
        await driver.receive(activity: .big(1))
        await driver.receive(failureOf: .source)
        #expect(
            reports.messages == [
                "Expected the mutation setLoading(false), but got the mutation increaseValue.",
                "Expected the activity big(1), but got the mutation setLoading(false).",
                "Expected a failure of source, but got the mutation setAlert(\"increased!\").",
            ])
        await driver.finish()
    }

    @Test func `the driver does not wait when nothing runs that could produce the event`() async {
        let driver = makeDriver()
        await driver.receive(.increaseValue)
        await driver.receive(activity: .big(1))
        await driver.finish()
        #expect(
            reports.messages == [
                "Expected the mutation increaseValue, but nothing running can produce it.",
                "Expected the activity big(1), but nothing running can produce it.",
            ])
    }

    @Test func `case 80: an effect that sleeps at the end still runs; a cancelled one does not`()
        async
    {
        let driver = makeDriver()
        await driver.send(.tick)
        await driver.advance(by: .seconds(1))
        await driver.receive(.increaseValue) { $0.value = 1 }
        await driver.finish()
        #expect(
            reports.messages == [
                "1 effects are still running: cancel them, or advance the clock."
            ])
        let stopped = makeDriver()
        await stopped.send(.tick)
        await stopped.clock.waitForSleepers(1)
        await stopped.send(.stop)
        await stopped.finish()
        #expect(reports.messages.count == 1)
    }

    @Test func `mutations after the synchronous part are received, not sent`() async {
        let driver = makeDriver()
        await driver.send(.tickNot)
        await driver.receive(.increaseValue) { $0.value = 1 }
        await driver.finish()
        #expect(reports.messages.isEmpty)
    }

    @Test func `a source's mutations and its failure are received`() async {
        let (feed, source) = AsyncThrowingStream<CounterReactor.Mutation, any Error>.makeStream()
        let driver = makeDriver(CounterReactor(feed: feed))
        source.yield(.increaseValue)
        await driver.receive(.increaseValue) { $0.value = 1 }
        source.finish(throwing: Mishap())
        await driver.receive(failureOf: .source)
        await driver.finish()
        #expect(reports.messages.isEmpty)
    }

    @Test func `an answer other than the asserted one is reported`() async {
        let driver = makeDriver()
        await driver.send(.refused)
        await driver.sendRejected(.stop)
        await driver.send(.decline)
        await driver.sendRejected(.decline)
        await driver.sendRefused(.decline, "other")
        await driver.sendRefused(.stop, "declined")
        await driver.sendRefused(.refused, "declined")
        await driver.finish()
        #expect(
            reports.messages == [
                "The action refused was not accepted.",
                "Expected the action stop to be rejected, but it was accepted.",
                "The action decline was not accepted: declined: Not now.",
                "Expected the action decline to be rejected, but got the refusal "
                    + "declined: Not now.",
                "Expected the action decline to be refused as other, but got the refusal "
                    + "declined: Not now.",
                "Expected the action stop to be refused as declined, but it was accepted.",
                "Expected the action refused to be refused as declined, but it was rejected.",
            ])
    }

    @Test func `a report has the location of the call that found it`() async {
        let driver = makeDriver()
        await driver.receive(.increaseValue)
        let line = #line - 1
        #expect(reports.places.first?.line == line)
        #expect(reports.places.first?.fileID == #fileID)
        await driver.finish()
    }

    @Test func `a driver released without finish is reported`() {
        _ = makeDriver()
        #expect(
            reports.messages == ["The driver was released without `await driver.finish()`."])
    }

    @Test func `a cancelled test does not wait`() async {
        let (reports, clock) = (reports, ManualClock())
        let test = Task {
            let driver = TestDriver(CounterReactor(), clock: clock, report: reports.add)
            await driver.send(.tick)
            await driver.receive(.increaseValue)
            await driver.finish()
        }
        await clock.waitForSleepers(1)
        test.cancel()
        await test.value
        #expect(
            reports.messages.first
                == "Expected the mutation increaseValue, and was cancelled while waiting.")
    }
}
