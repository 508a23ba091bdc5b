import Foundation
import ReactorTesting
import Reactors
import Testing

@Suite("Timers in a process, by the clock of the test", .timeLimit(.minutes(60)))
struct HostTimerTests {
    /// A round that closes by itself.
    struct Round: Reactor {
        enum Action: Sendable, Equatable {
            case open(Duration)
            case openUntil(Date)
            case keepOpen
            case close
            case ring(Int)
            case many(Int)
            case decline
            case set(EffectID, Duration, Int)
            case refuseLater
            case tooLate
        }

        struct State: Sendable, Equatable {
            var isOpen = false
            var rung: [Int] = []
        }

        enum Mutation: Sendable, Equatable {
            case open, close
            case ring(Int)
        }

        let initialState = State()

        func mutate(action: Action) -> Effect<Mutation> {
            switch action {
            case .open(let time): .concat(.just(.open), .schedule("close", after: time, .close))
            case .openUntil(let date): .concat(.just(.open), .schedule("close", at: date, .close))
            case .keepOpen: .cancel("close")
            case .close: .just(.close)
            case .ring(let number): .just(.ring(number))
            case .many(let count):
                .concat(
                    (1...count).map { .schedule("t\($0)", after: .seconds($0), .ring($0)) })
            case .decline:
                .concat(
                    .cancel("close"), .schedule("x", after: .zero, .close), .refuse("no", "No."))
            case .set(let name, let time, let number): .schedule(name, after: time, .ring(number))
            case .refuseLater: .schedule("x", after: .seconds(1), .tooLate)
            case .tooLate: .refuse("too_late", "It is too late.")
            }
        }

        func reduce(state: inout State, mutation: Mutation) {
            switch mutation {
            case .open: state.isOpen = true
            case .close: state.isOpen = false
            case .ring(let number): state.rung.append(number)
            }
        }
    }

    private func driver() -> (TestDriver<Round>, Reports) {
        let reports = Reports()
        return (TestDriver(Round(), report: reports.add), reports)
    }

    @Test func `a timer fires once, when it is due`() async {
        let (driver, reports) = driver()
        await driver.send(.open(.seconds(60))) { $0.isOpen = true }
        await driver.expectTimers(["close": .seconds(60)])
        await driver.advance(by: .seconds(59))
        await driver.expectTimers(["close": .seconds(1)])
        await driver.advance(by: .seconds(1))
        await driver.receive(timer: "close")
        await driver.receive(.close) { $0.isOpen = false }
        await driver.expectTimers([:])
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `a timer at a date, by a clock that starts in 1970`() async {
        let (driver, reports) = driver()
        await driver.send(.openUntil(Date(timeIntervalSince1970: 10))) { $0.isOpen = true }
        await driver.expectTimers(["close": .seconds(10)])
        await driver.advance(by: .seconds(10))
        await driver.receive(timer: "close")
        await driver.receive(.close) { $0.isOpen = false }
        // This date is past, so the timer fires at once.
        await driver.send(.openUntil(Date(timeIntervalSince1970: 3))) { $0.isOpen = true }
        await driver.receive(timer: "close")
        await driver.receive(.close) { $0.isOpen = false }
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `a timer replaces one of the same name, and a cancelled one does not fire`() async {
        let (driver, reports) = driver()
        await driver.send(.open(.seconds(60))) { $0.isOpen = true }
        await driver.send(.open(.seconds(90)))
        await driver.expectTimers(["close": .seconds(90)])
        await driver.send(.keepOpen)
        await driver.expectTimers([:])
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `timers fire in the order in which they are due`() async {
        let (driver, reports) = driver()
        await driver.send(.set("c", .seconds(3), 3))
        await driver.send(.set("a", .seconds(1), 1))
        await driver.send(.set("b", .seconds(2), 2))
        await driver.advance(by: .seconds(5))
        for (number, name) in (["a", "b", "c"] as [EffectID]).enumerated() {
            await driver.receive(timer: name)
            await driver.receive(.ring(number + 1)) { $0.rung.append(number + 1) }
        }
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `a delay that no clock can express is the longest one`() async {
        let (driver, reports) = driver()
        await driver.send(.open(.seconds(Int64.max))) { $0.isOpen = true }
        await driver.expectTimers(["close": .milliseconds(8_640_000_000_000_000)])
        await driver.send(.keepOpen)
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `a refused action leaves the timers as they were`() async {
        let (driver, reports) = driver()
        await driver.send(.open(.seconds(60))) { $0.isOpen = true }
        await driver.sendRefused(.decline, "no")
        await driver.expectTimers(["close": .seconds(60)])
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `if the action of a timer is refused, a failure is reported and the timer is gone`()
        async
    {
        let (driver, reports) = driver()
        await driver.send(.refuseLater)
        await driver.advance(by: .seconds(1))
        await driver.receive(timer: "x")
        await driver.receive(failureOf: .effect)
        await driver.expectTimers([:])
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `64 timers with names of 64 bytes, without control characters`() async {
        let (driver, reports) = driver()
        await driver.send(.many(64))
        #expect(await driver.host.timers.count == 64)
        // One of these names is replaced.
        await driver.send(.set("t7", .seconds(700), 7))
        #expect(await driver.host.timers["t7"] == .seconds(700))
        let over = await driver.host.send(.set("more", .seconds(1), 1))
        #expect(over.failure == "timers")
        await driver.receive(failureOf: .effect)
        for name in ["", String(repeating: "x", count: 65), "a\nb"] {
            let wrong = await driver.host.send(.set(EffectID(name), .seconds(1), 1))
            #expect(wrong.failure == "timerName")
            await driver.receive(failureOf: .effect)
        }
        #expect(await driver.host.timers.count == 64)
        await driver.expectTimers(driver.host.timers)
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `timers rest during a stub`() async {
        let (driver, reports) = driver()
        await driver.send(.set("a", .seconds(1), 1))
        let stub = Stub(driver.host)
        await stub.enable()
        await driver.advance(by: .seconds(5))
        await stub.disable()
        await driver.receive(timer: "a")
        await driver.receive(.ring(1)) { $0.rung = [1] }
        await driver.finish()
        #expect(reports.messages == [])
    }

    @Test func `a driver reports a timer that was not asserted, and wrong timers`() async {
        let (driver, reports) = driver()
        await driver.send(.set("a", .seconds(1), 1))
        await driver.expectTimers(["b": .seconds(1)])
        #expect(
            reports.messages == [
                """
                The timers are not as expected.
                expected: b in 1.0 seconds
                actual:   a in 1.0 seconds
                """
            ])
        await driver.advance(by: .seconds(1))
        await driver.receive(.ring(1))
        #expect(reports.messages.last == "Expected the mutation ring(1), but got the timer a.")
        await driver.receive(.ring(1)) { $0.rung = [1] }
        await driver.finish()
        #expect(reports.messages.count == 2)
    }

    @Test func `a driver reports timers that are still set, unless they were asserted`() async {
        let (driver, reports) = driver()
        await driver.send(.set("a", .seconds(9), 1))
        await driver.send(.set("b", .seconds(9), 1))
        await driver.expectTimers(["a": .seconds(9), "b": .seconds(9)])
        await driver.send(.set("c", .seconds(2), 1))
        await driver.advance(by: .seconds(1))
        await driver.send(.set("b", .seconds(9), 2))
        await driver.finish()
        #expect(
            reports.messages == [
                "Timers are still set: b in 9.0 seconds, c in 1.0 seconds. Cancel them, advance the "
                    + "clock, or assert them with `expectTimers`."
            ])
    }
}
