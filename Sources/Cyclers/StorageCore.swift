// Design: no locks and no tasks. A core belongs to one isolation, that of its cycler, and the
// compiler enforces it: it is not Sendable.
//
// Writes apply immediately, delivery is ordered. A *commit* collects its events in `pending`; when
// the outermost commit succeeds they move to the outbox, except events that were rolled back by an
// error. The outbox is delivered entry by entry, by one loop at a time: if a subscriber commits
// when it is called, its commit is applied at once and delivered next. A synchronous dispatch is
// one *turn*: delivery waits for its end, so that reactions come after its last commit.

final class StorageCore<Value> {
    /// The current value; within a commit the working copy.
    private(set) var value: Value

    /// The number of commits that wrote something.
    private(set) var version: UInt64 = 0

    /// Whether the session has ended: writes are dropped.
    private(set) var isEnded = false

    /// The running synchronous dispatch; its number is part of every call during it.
    var currentDispatch: DispatchID?

    /// Contexts add to it when they are released.
    let uncompleted = UncompletedCalls()

    weak var observer: (any StorageObserver<Value>)?
    private var loggers = LoggerList()
    private var subscribers = SubscriptionList<Value>()
    // One hub for each type of activities, usually only the cycler's.
    private var hubs: [any ActivityHubProtocol] = []
    private var lastToken: UInt64 = 0
    private var lastDispatch: UInt64 = 0

    private var depth = 0
    // Whether the innermost open commit has written; false while there is none.
    private var hasWritten = false
    // Invariant: empty while `depth` is 0.
    private var pending: [StorageEntry<Value>] = []
    // Whether a closure has a copy that will replace the value: a commit in between would be lost.
    private var isLent = false
    // The depth of nested synchronous dispatches.
    private var turns = 0
    private var outbox = Outbox<StorageEntry<Value>>()
    private var isDelivering = false

    init(_ value: Value) { self.value = value }

    deinit {
        loggers.finishAll()
        subscribers.finishAll()
        for hub in hubs { hub.finishAll() }
    }

    var isLogged: Bool { !loggers.isEmpty || observer != nil }
    var subscriberCount: Int { subscribers.count }

    // MARK: Writing

    /// Runs `body` as one commit and returns whether a commit was possible.
    ///
    /// - Parameters:
    ///   - call: Nil for a write that is not a `commit` and is not logged as one.
    ///   - isBatch: Whether it ends with `didReplace`.
    func commit<Failure: Error>(
        _ call: CyclerCall?, isBatch: Bool = false, _ body: () throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        guard !isEnded, !isLent else {
            if let call { log(.dropped(.commit, call)) }
            return false
        }
        if let call { log(.willMutate(call)) }
        // Why the check of the type: while a copy for the rollback exists, a write to an element
        // copies its array.
        let undo = Failure.self == Never.self ? nil : (value: value, pending: pending.count)
        let hadWritten = hasWritten
        hasWritten = false
        depth += 1
        do {
            try body()
        } catch {
            if let undo { goBack(to: undo.value, undo.pending) }
            hasWritten = hadWritten
            depth -= 1
            leave(call, .failed(error))
            throw error
        }
        if isBatch, hasWritten { logReplacement() }
        depth -= 1
        leave(call, ended(hadWritten))
        return true
    }

    /// Runs `body` on a copy of the value and replaces the value with it, as one commit.
    ///
    /// Why a copy: `body` may read the storage, which would overlap with a write to the value
    /// itself and trap.
    func commitInPlace<Failure: Error>(
        _ call: CyclerCall?, _ body: (inout Value) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try commit(call) { () throws(Failure) in
            var copy = value
            isLent = true
            defer { isLent = false }
            try body(&copy)
            replace(copy)
        }
    }

    /// Requires an open commit.
    func set<Part>(_ part: Part, at path: WritableKeyPath<Value, Part>) {
        value[keyPath: path] = part
        hasWritten = true
        guard wantsChanges else { return }
        let root = value
        log(.changed { $0.didChange(part, for: path, root: root) })
    }

    /// Requires an open commit.
    func replace(_ new: Value) {
        value = new
        hasWritten = true
        logReplacement()
    }

    private func logReplacement() {
        guard wantsChanges else { return }
        log(.replaced(value))
    }

    private func goBack(to old: Value, _ pendingCount: Int) {
        value = old
        let kept = pending[pendingCount...].filter { !$0.isPartOfCommit }
        pending.replaceSubrange(pendingCount..., with: kept)
    }

    private func ended(_ hadWritten: Bool) -> CommitOutcome {
        let wrote = hasWritten
        hasWritten = hadWritten || wrote
        guard wrote else { return .unchanged }
        guard depth == 0 else { return .joined }
        hasWritten = false
        version += 1
        return .committed(version: version)
    }

    // Ends a commit. The outermost one delivers changes, the new value, the outcome, activities.
    private func leave(_ call: CyclerCall?, _ outcome: CommitOutcome) {
        guard depth == 0 else {
            if let call { log(.didMutate(call, outcome)) }
            return
        }
        let collected = pending
        if !collected.isEmpty { pending.removeAll(keepingCapacity: true) }
        for entry in collected where !entry.isEmission { outbox.append(entry) }
        if case .committed(let version) = outcome, observer != nil || !subscribers.isEmpty {
            outbox.append(.committed(value, version: version, by: call))
        }
        if let call, isLogged { outbox.append(.didMutate(call, outcome)) }
        for entry in collected where entry.isEmission { outbox.append(entry) }
        deliverAll()
    }

    private var wantsChanges: Bool { !loggers.isEmpty || observer?.wantsChanges == true }

    // MARK: Delivery

    func log(_ entry: StorageEntry<Value>) {
        guard isLogged else { return }
        hand(entry)
    }

    func emit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall) {
        guard !isEnded else { return log(.dropped(.emission, call)) }
        let hub = hub(for: Activity.self)
        let number = hub.number()
        hand(
            .emitted(
                report: { $0.didEmit(activity, call) },
                deliverToHub: { hub.deliver(activity, number, call) }))
    }

    private func hand(_ entry: StorageEntry<Value>) {
        guard depth == 0 else { return pending.append(entry) }
        outbox.append(entry)
        deliverAll()
    }

    private func deliverAll() {
        guard !isDelivering, turns == 0, depth == 0 else { return }
        isDelivering = true
        for call in uncompleted.takeAll() {
            notifyLoggers(.didDispatch(call, error: DispatchNotCompleted()))
        }
        while let entry = outbox.takeFirst() { deliver(entry) }
        isDelivering = false
    }

    private func deliver(_ entry: StorageEntry<Value>) {
        switch entry {
        case .committed(let value, let version, let call):
            observer?.committed(value, version: version, by: call)
            notifySubscribers(value, version)
        case .emitted(_, let deliverToHub):
            notifyLoggers(entry)
            deliverToHub()
        default:
            notifyLoggers(entry)
        }
    }

    private func notifyLoggers(_ entry: StorageEntry<Value>) {
        if let observer { entry.report(to: observer) }
        guard !loggers.isEmpty else { return }
        loggers.forgetDeparted()
        for logger in loggers.present { entry.report(to: logger) }
    }

    private func notifySubscribers(_ value: Value, _ version: UInt64) {
        for index in subscribers.beginDelivery() {
            guard let one = subscribers.subscription(at: index, for: version) else { continue }
            if !one.take(value) { subscribers.leaves(at: index) }
        }
        subscribers.endDelivery()
    }

    // MARK: Turns

    func nextDispatch() -> DispatchID {
        lastDispatch += 1
        return DispatchID(number: lastDispatch)
    }

    /// Starts the synchronous dispatch `dispatch`; returns the argument of ``endTurn(_:)``.
    func beginTurn(_ dispatch: DispatchID?) -> DispatchID? {
        turns += 1
        defer { currentDispatch = dispatch }
        return currentDispatch
    }

    func endTurn(_ before: DispatchID?) {
        turns -= 1
        currentDispatch = before
        deliverAll()
    }

    // MARK: Observers

    func subscribe(_ subscription: Subscription<Value>) -> StorageToken {
        let token = nextToken()
        guard !isEnded else {
            subscription.finish()
            return token
        }
        subscribers.add(subscription, token.number, since: version)
        return token
    }

    func unsubscribe(_ token: StorageToken) {
        guard token.owner == ObjectIdentifier(self) else { return }
        subscribers.remove(token.number)
    }

    func add(_ logger: any CyclerLogger) -> StorageToken {
        let token = nextToken()
        loggers.add(logger, token.number)
        return token
    }

    func add(_ logger: StreamLogger) {
        guard !isEnded else { return logger.finish() }
        loggers.add(logger, nextToken().number, until: logger.departure, finish: logger.finish)
    }

    func set(_ logger: any CyclerLogger) -> StorageToken {
        loggers.removeAdded()
        return add(logger)
    }

    func removeLogger(_ token: StorageToken) {
        guard token.owner == ObjectIdentifier(self) else { return }
        loggers.remove(token.number)
    }

    func replaceLogger(_ token: StorageToken, _ logger: any CyclerLogger) -> Bool {
        token.owner == ObjectIdentifier(self) && loggers.replace(token.number, logger)
    }

    func hub<Activity: Sendable>(for type: Activity.Type) -> ActivityHub<Activity> {
        for case let hub as ActivityHub<Activity> in hubs { return hub }
        let hub = ActivityHub<Activity>()
        hubs.append(hub)
        return hub
    }

    private func nextToken() -> StorageToken {
        lastToken += 1
        return StorageToken(number: lastToken, owner: ObjectIdentifier(self))
    }

    // MARK: Hosting

    /// Replaces the state without notifying observers, while no write or delivery is in progress.
    func restore(_ value: Value, version: UInt64) {
        precondition(
            depth == 0 && turns == 0 && !isDelivering,
            "a state is restored between turns, not in one")
        self.value = value
        self.version = version
        subscribers.rollBack(after: version)
    }

    /// Ends streams; later commits and activities are dropped. The value can still be read.
    func end() {
        guard !isEnded else { return }
        isEnded = true
        loggers.finishAll()
        subscribers.finishAll()
        for hub in hubs { hub.finishAll() }
    }
}
