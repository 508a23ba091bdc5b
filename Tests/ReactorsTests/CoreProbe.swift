import Reactors

/// A session on a bare core: records the core's notifications in order, and simulates its tasks by
/// hand.
final class CoreProbe<R: Reactor>: ReactorCoreObserver {
    let core: ReactorCore<R>
    private(set) var mutations: [R.Mutation] = []
    private(set) var states: [R.State] = []
    private(set) var activities: [R.Activity] = []
    private(set) var failures: [ReactorFailure] = []
    private(set) var started: [EffectRun<R>] = []
    private(set) var cancelled: [RunID] = []
    private(set) var settled: [ActionTag] = []
    private(set) var skipped: [String] = []
    private(set) var dropped: [DropReason] = []
    private(set) var log: [String] = []
    private var lastTag: UInt64 = 0

    init(_ reactor: R, state: R.State? = nil, version: UInt64 = 0) {
        core = ReactorCore(reactor: reactor, state: state, version: version)
    }

    @discardableResult
    func send(_ action: R.Action) -> Disposition {
        lastTag += 1
        return core.receive(action, tag: ActionTag(lastTag), observer: self)
    }

    var visible: R.State { core.visibleState(observer: self) }

    /// Ends the `index`th started step.
    func end(_ index: Int, failure: (any Error)? = nil) {
        core.ended(started[index], failure: failure, observer: self)
    }

    /// Sends a mutation from the `index`th started step.
    @discardableResult
    func send(_ mutation: R.Mutation, fromStep index: Int) -> Bool {
        core.receive(mutation, from: started[index], observer: self)
    }

    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        mutations.append(mutation)
        states.append(core.visibleState(observer: self))
        log.append("mutated \(action.number)")
    }

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {
        activities.append(activity)
        log.append("emitted \(action.number)")
    }

    func failed(_ failure: ReactorFailure) {
        failures.append(failure)
        log.append("failed \(failure.place.rawValue) \(failure.action.number)")
    }

    func start(_ run: EffectRun<R>) {
        started.append(run)
        log.append("start \(run.effectID?.name ?? "-") \(run.action.number)")
    }

    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {
        cancelled.append(run)
        log.append("cancel \(action.number)")
    }

    func settled(_ action: ActionTag) {
        settled.append(action)
        log.append("settled \(action.number)")
    }

    func accepted(_ action: R.Action, as transformed: R.Action, tag: ActionTag) {
        log.append("accepted \(action) as \(transformed)")
    }

    func rejected(_ action: R.Action, tag: ActionTag) { log.append("rejected \(action)") }

    func synchronousPartEnded(_ action: ActionTag, core: ReactorCore<R>) {
        log.append("synchronous part of \(action.number) at \(core.version)")
    }

    func ended(_ run: RunID, named effectID: EffectID?, action: ActionTag, hasFailed: Bool) {
        log.append("ended \(action.number)")
    }

    func sourceEnded(_ name: String) { log.append("source \(name) ended") }

    func dropped(_ mutation: R.Mutation, by action: ActionTag, because reason: DropReason) {
        dropped.append(reason)
        log.append("dropped \(mutation)")
    }

    func dropped(_ activity: R.Activity, by action: ActionTag) { dropped.append(.ended) }

    func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason) {
        skipped.append("\(effectID) \(reason.rawValue)")
    }

    func recorded(_ action: R.Action, tag: ActionTag) { log.append("recorded \(action)") }

    func injected(core: ReactorCore<R>) {
        states.append(core.visibleState(observer: self))
        log.append("injected \(core.version)")
    }

    func uncovered(core: ReactorCore<R>) { log.append("uncovered \(core.version)") }
}
