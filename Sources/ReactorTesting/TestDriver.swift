public import Reactors

// Why failures are passed to a closure: a product that imported Testing or XCTest would add one of
// them to programs that use the other or none (`Stub` and `ManualClock` are for previews too), and
// XCTest cannot be linked outside test bundles on Apple's platforms. A thrown error would stop the
// test at the first difference and lose the line. A closure is written once per test target.

/// Drives one session through a test in which every event is asserted.
///
/// ```swift
/// let driver = TestDriver(CounterReactor()) { failure in Issue.record("\(failure)") }
/// await driver.send(.increase) { $0.isLoading = true }
/// await driver.advance(by: .milliseconds(500))
/// await driver.receive(.increaseValue) { $0.value = 1 }
/// await driver.receive(.setLoading(false)) { $0.isLoading = false }
/// await driver.finish()
/// ```
///
/// Each closure receives the last asserted state and changes it to the expected one. A pulse is a
/// part of the state: `$0.alert = "x"` means that it was assigned once.
///
/// It reports events that were not asserted, asserted events that are missing, a different state,
/// and effects that still run at the end. After a report it continues from the actual state, so
/// that one mistake is one report. Not for several tasks: one test, one driver.
public final class TestDriver<R: Reactor>
where R.State: Equatable, R.Mutation: Equatable, R.Activity: Equatable {
    /// The session, to read its streams or to end it. Actions sent directly to it are not asserted.
    public let host: ReactorHost<R>

    /// The session's clock.
    public let clock: ManualClock

    let driverState: DriverState<R>
    private let report: (DriverFailure) -> Void
    private let origin: CallPlace
    private var asserted: R.State?
    // When the asserted timers are due, as times since the start of the clock.
    private var assertedTimers: [EffectID: Duration] = [:]
    private var isFinished = false

    /// Starts a session.
    ///
    /// - Parameters:
    ///   - reactor: The session's own instance.
    ///   - clock: The session's clock. For timers at a date, it starts in 1970. Default: a new
    ///     one.
    ///   - topics: As for `ReactorHost`.
    ///   - fileID: The location of the call, for failures, as the next three parameters.
    ///   - filePath: likewise.
    ///   - line: likewise.
    ///   - column: likewise.
    ///   - report: Called for every fault, within the call that found it.
    public init(
        _ reactor: sending R, clock: ManualClock = ManualClock(), topics: TopicBus = TopicBus(),
        fileID: String = #fileID, filePath: StaticString = #filePath, line: Int = #line,
        column: Int = #column, report: @escaping (DriverFailure) -> Void
    ) {
        let driverState = DriverState<R>()
        self.driverState = driverState
        self.clock = clock
        self.report = report
        origin = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        host = ReactorHost(
            reactor, clock: clock, topics: topics, now: { clock.now.sinceStart },
            follower: driverState)
        clock.follow { driverState.poke() }
    }

    /// The last asserted state; at first, the first shown state.
    public var state: R.State {
        guard let state = asserted ?? driverState.initialState else {
            preconditionFailure("a session reports its first state when it begins")
        }
        return state
    }

    /// Sends an action, and asserts the state after its synchronous part.
    ///
    /// The state alone asserts the mutations of that part; use `receive` for activities.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - subject: The client that has sent it. Default: none.
    ///   - fileID: The location of the call, for failures, as the next three parameters.
    ///   - filePath: likewise.
    ///   - line: likewise.
    ///   - column: likewise.
    ///   - change: The expected change of the state. Default: none.
    public func send(
        _ action: R.Action, subject: String? = nil, fileID: String = #fileID,
        filePath: StaticString = #filePath,
        line: Int = #line, column: Int = #column, _ change: (inout R.State) -> Void = { _ in }
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        let (result, before) = await sendAndObserve(action, subject, at: place)
        if !result.accepted {
            let why = (result.refusal?.description ?? result.failure).map { ": \($0)" } ?? "."
            fail("The action \(action) was not accepted\(why)", at: place)
        }
        compare(with: before ?? state, change, after: "sending \(action)", at: place)
    }

    /// Sends an action, and asserts that it is not accepted: `transform(action:)` rejects it, or
    /// the session has ended.
    public func sendRejected(
        _ action: R.Action, subject: String? = nil, fileID: String = #fileID,
        filePath: StaticString = #filePath,
        line: Int = #line, column: Int = #column
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        let (result, actual) = await sendAndObserve(action, subject, at: place)
        if result.accepted || result.refusal != nil {
            let actual = result.refusal.map { "got the refusal \($0)" } ?? "it was accepted."
            fail("Expected the action \(action) to be rejected, but \(actual)", at: place)
        }
        asserted = actual ?? state
    }

    /// Sends an action, and asserts that the reactor refuses it. Nothing else has to be asserted: a
    /// refused action changes nothing, and leaves no event.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - code: The expected code of the refusal.
    ///   - subject: The client that has sent it. Default: none.
    ///   - fileID: The location of the call, for failures, as the next three parameters.
    ///   - filePath: likewise.
    ///   - line: likewise.
    ///   - column: likewise.
    /// - Returns: The refusal, to assert its sentence; nil if there is none.
    @discardableResult
    public func sendRefused(
        _ action: R.Action, _ code: String, subject: String? = nil, fileID: String = #fileID,
        filePath: StaticString = #filePath, line: Int = #line, column: Int = #column
    ) async -> Refusal? {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        let (result, actual) = await sendAndObserve(action, subject, at: place)
        asserted = actual ?? state
        if result.refusal?.code != code {
            let actual =
                result.refusal.map { "got the refusal \($0)" }
                ?? "it was \(result.accepted ? "accepted" : "rejected")."
            fail("Expected the action \(action) to be refused as \(code), but \(actual)", at: place)
        }
        return result.refusal
    }

    /// Asserts that the next event of effects or sources is this mutation, and the state after it.
    ///
    /// Waits for it as long as an effect runs or a source is open. Give tests a time limit: it also
    /// waits for an effect that sleeps on a clock which is not advanced.
    ///
    /// - Parameters:
    ///   - mutation: The expected mutation.
    ///   - fileID: The location of the call, for failures, as the next three parameters.
    ///   - filePath: likewise.
    ///   - line: likewise.
    ///   - column: likewise.
    ///   - change: The expected change of the state. Default: none.
    public func receive(
        _ mutation: R.Mutation, fileID: String = #fileID, filePath: StaticString = #filePath,
        line: Int = #line, column: Int = #column, _ change: (inout R.State) -> Void = { _ in }
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        guard let item = await next("the mutation \(mutation)", at: place) else { return }
        guard case .mutation(let actual, _, let state) = item.event, actual == mutation else {
            return mistake(item, for: "the mutation \(mutation)", at: place)
        }
        compare(with: state, change, after: "\(mutation)", at: place)
    }

    /// Asserts that the next event is this activity. Waits as
    /// ``receive(_:fileID:filePath:line:column:_:)`` does.
    public func receive(
        activity: R.Activity, fileID: String = #fileID, filePath: StaticString = #filePath,
        line: Int = #line, column: Int = #column
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        guard let item = await next("the activity \(activity)", at: place) else { return }
        guard case .activity(activity) = item.event else {
            return mistake(item, for: "the activity \(activity)", at: place)
        }
    }

    /// Asserts that the next event is a failure in this place. Waits as
    /// ``receive(_:fileID:filePath:line:column:_:)`` does.
    public func receive(
        failureOf failing: ReactorFailure.Place, fileID: String = #fileID,
        filePath: StaticString = #filePath, line: Int = #line, column: Int = #column
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        guard let item = await next("a failure of \(failing)", at: place) else { return }
        guard case .failure(failing, _) = item.event else {
            return mistake(item, for: "a failure of \(failing)", at: place)
        }
    }

    /// Asserts that the next event is this timer. The session then receives the timer's action.
    /// Assert the mutations and activities of that action after it.
    ///
    /// ```swift
    /// await driver.send(.open) { $0.isOpen = true }
    /// await driver.advance(by: .seconds(60))
    /// await driver.receive(timer: "close")
    /// await driver.receive(.close) { $0.isOpen = false }
    /// ```
    ///
    /// Waits like ``receive(_:fileID:filePath:line:column:_:)``.
    public func receive(
        timer name: EffectID, fileID: String = #fileID, filePath: StaticString = #filePath,
        line: Int = #line, column: Int = #column
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        guard let item = await next("the timer \(name)", at: place) else { return }
        guard case .timer(name) = item.event else {
            return mistake(item, for: "the timer \(name)", at: place)
        }
    }

    /// Asserts that the session has these timers and no others. They may stay set until
    /// ``finish(fileID:filePath:line:column:)``, which reports all others.
    ///
    /// - Parameters:
    ///   - expected: The time until each timer is due, by name.
    ///   - fileID: The location of the call, for failures, as the next three parameters.
    ///   - filePath: likewise.
    ///   - line: likewise.
    ///   - column: likewise.
    public func expectTimers(
        _ expected: [EffectID: Duration], fileID: String = #fileID,
        filePath: StaticString = #filePath, line: Int = #line, column: Int = #column
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        let actual = await host.timers
        assertedTimers = actual.mapValues(due)
        guard actual != expected else { return }
        fail(
            "The timers are not as expected.\n"
                + "expected: \(Self.text(of: expected))\nactual:   \(Self.text(of: actual))",
            at: place)
    }

    /// Advances the session's clock as soon as a task sleeps on it.
    ///
    /// This is enough for one sleeper; all timers together count as one. If several tasks sleep,
    /// wait for them first: `clock.waitForSleepers(2)`.
    public func advance(by duration: Duration) async {
        await clock.waitForSleepers(1)
        clock.advance(by: duration)
    }

    /// Reports events that were not asserted, effects that still run and timers that are still set,
    /// and ends the session.
    ///
    /// Does not report timers that ``expectTimers(_:fileID:filePath:line:column:)`` has asserted
    /// since they were set.
    /// An effect that sleeps on the clock counts as running. Any other is waited for.
    public func finish(
        fileID: String = #fileID, filePath: StaticString = #filePath, line: Int = #line,
        column: Int = #column
    ) async {
        let place = CallPlace(fileID: fileID, filePath: filePath, line: line, column: column)
        let running = await settle()
        if running > 0 {
            fail(
                "\(running) effects are still running: cancel them, or advance the clock.",
                at: place)
        }
        reportUnasserted(at: place)
        let timers = await host.timers
        let left = timers.filter { assertedTimers[$0.key] != due($0.value) }
        if !left.isEmpty {
            fail(
                "Timers are still set: \(Self.text(of: left)). Cancel them, advance the clock, or "
                    + "assert them with `expectTimers`.",
                at: place)
        }
        isFinished = true
        await host.end()
    }

    deinit {
        guard !isFinished else { return }
        report(
            DriverFailure(
                message: "The driver was released without `await driver.finish()`.", place: origin)
        )
    }
}

extension TestDriver {
    // The state after the action's own synchronous part, if that has mutations.
    private func sendAndObserve(
        _ action: R.Action, _ subject: String?, at place: CallPlace
    ) async -> (result: SendResult, state: R.State?) {
        let (result, number) = await host.sendNumbered(action, subject: subject)
        let turn = driverState.takeTurn(of: number, upTo: result.version)
        for item in turn.before { unasserted(item, at: place) }
        guard case .mutation(_, _, let state)? = turn.own.last?.event else { return (result, nil) }
        return (result, state)
    }

    // After the session's turn: within one no effect may run although more events follow.
    private func next(_ wanted: String, at place: CallPlace) async -> DriverState<R>.Item? {
        while true {
            let seen = driverState.count
            if let item = driverState.takeNext() { return item }
            let running = await host.runningCount
            if driverState.count != seen { continue }
            if running == (0, 0), await !host.hasTimers {
                fail("Expected \(wanted), but nothing running can produce it.", at: place)
                return nil
            }
            if Task.isCancelled {
                fail("Expected \(wanted), and was cancelled while waiting.", at: place)
                return nil
            }
            await driverState.waitForMore(than: seen)
        }
    }

    // The number of running steps that do not end by themselves.
    private func settle() async -> Int {
        while true {
            let seen = driverState.count
            let running = await host.runningCount.steps
            let timers = await host.hasTimers ? 1 : 0
            if running == 0 || clock.sleeperCount >= running + timers || Task.isCancelled {
                return running
            }
            await driverState.waitForMore(than: seen)
        }
    }

    private func compare(
        with actual: R.State, _ change: (inout R.State) -> Void, after cause: String,
        at place: CallPlace
    ) {
        var expected = state
        change(&expected)
        asserted = actual
        guard expected != actual else { return }
        var lines = Difference(expected: expected, actual: actual).lines
        // The state's own `==` may see what its fields do not show.
        if lines.isEmpty { lines = ["expected: \(expected)", "actual:   \(actual)"] }
        fail(
            "The state after \(cause) is not as expected.\n" + lines.joined(separator: "\n"),
            at: place)
    }

    private func due(_ wait: Duration) -> Duration { clock.now.sinceStart + wait }

    private static func text(of timers: [EffectID: Duration]) -> String {
        timers.isEmpty
            ? "none"
            : timers.map { "\($0) in \($1)" }.sorted().joined(separator: ", ")
    }

    private func mistake(_ item: DriverState<R>.Item, for wanted: String, at place: CallPlace) {
        fail("Expected \(wanted), but got \(item.text).", at: place)
        adopt(item)
    }

    private func unasserted(_ item: DriverState<R>.Item, at place: CallPlace) {
        fail("Not asserted: \(item.text).", at: place)
        adopt(item)
    }

    private func adopt(_ item: DriverState<R>.Item) {
        if case .mutation(_, _, let state) = item.event { asserted = state }
    }

    private func reportUnasserted(at place: CallPlace) {
        while let item = driverState.takeNext() { unasserted(item, at: place) }
    }

    private func fail(_ message: String, at place: CallPlace) {
        report(DriverFailure(message: message, place: place))
    }
}

extension DriverState.Item {
    fileprivate var text: String {
        switch event {
        case .mutation(let mutation, _, _): "the mutation \(mutation)"
        case .activity(let activity): "the activity \(activity)"
        case .failure(let place, let error): "a failure of \(place): \(error)"
        case .timer(let name): "the timer \(name)"
        }
    }
}
