internal import JSONCoding
internal import Reactors

/// One replay: what the journal has, entry by entry, beside a reactor that does it again.
///
/// Design: the reactor's core makes an action's mutations; the state is reduced here, once for each
/// recorded version, so that a recorded mutation of an effect and one that was made again have one
/// way. Each action gets a core of its own, without steps that still run.
final class Replay<R: Reactor> where R.Action: Codable, R.Mutation: Codable, R.State: Codable {
    private let session: ExportedSession
    private let reactor: R
    private let pulses: [PulseField<R.State>]

    private var state: R.State
    private var version: UInt64
    /// The `stateVersion` of the saved mutations that follow.
    private var form = R.stateVersion
    private var marks: [PulseMark] = []
    /// The newest version at which a saved state was compared and was equal.
    private var agreed: UInt64

    private var last = LastAction()
    /// Actions that have effects today. Actions before the kept history may have had some, too.
    private var withEffects: Set<UInt64> = []
    private let firstAction: UInt64

    private struct LastAction {
        var number: UInt64 = 0
        /// The mutations that it makes at once today, and that were not met in the export yet.
        var expected: [R.Mutation] = []
        /// Whether a mutation of it that comes now was made at once: nothing happened in between.
        var isAtOnce = false
        /// Whether it ends the session today. In the export, it has not ended the session.
        var endsSession = false
    }

    /// - Throws: the state at which the history begins cannot be read.
    init(_ session: ExportedSession, _ reactor: R) throws(ReplayFault) {
        self.session = session
        self.reactor = reactor
        pulses = JSON.pulses(of: reactor.initialState)
        version = session.start
        agreed = session.start
        guard session.start > 0 else {
            state = reactor.initialState
            firstAction = 0
            look()
            return
        }
        guard let snapshot = session.snapshots[session.start] else {
            throw ReplayFault(
                line: nil, reason: "there is no state of version \(session.start) to begin from")
        }
        state = try Self.state(of: snapshot, reactor)
        form = snapshot.stateVersion ?? form
        firstAction = snapshot.lastAction ?? 0
        look()
    }

    func run() throws(ReplayFault) -> ReplayDifference? {
        for (index, entry) in session.entries.enumerated() {
            switch entry.line.kind {
            case "note": if let difference = try readNote(entry, index) { return difference }
            case "mutation": if let difference = try readMutation(entry) { return difference }
            default: leaveAction(unless: entry.line)
            }
        }
        return surplus()
    }

    // MARK: Actions

    private func readNote(
        _ entry: ExportedSession.Entry, _ index: Int
    ) throws(ReplayFault) -> ReplayDifference? {
        let content = entry.line.content
        guard case .string(let kind)? = content?["kind"] else {
            throw fault(entry, "the note has no kind")
        }
        guard kind == "action.received" || kind == "action.rejected" else {
            // An effect that has begun can make mutations from here on.
            if kind.hasPrefix("effect.") { last.isAtOnce = false }
            leaveAction(unless: entry.line)
            return nil
        }
        if let difference = surplus() { return difference }
        guard let received = content?["content"]?["received"] else {
            throw fault(entry, "the note has no action")
        }
        let decoded: R.Action
        do {
            decoded = try JSON.decode(R.Action.self, stored: ReplayJSON.bytes(received))
        } catch {
            throw fault(entry, "the action can't be decoded: \(error.sentence)")
        }
        var subject: String?
        if case .string(let text)? = content?["content"]?["subject"] { subject = text }
        let number = entry.line.action ?? 0
        begin(decoded, by: subject, number, timers(after: index, of: number))
        return nil
    }

    /// The timers that an action tried to set, with their outcomes, up to the next action. A replay
    /// has no timers of earlier actions, so only the export knows whether there were too many.
    private func timers(after index: Int, of number: UInt64) -> [RecordedTimer] {
        var found: [RecordedTimer] = []
        for entry in session.entries[(index + 1)...] {
            let content = entry.line.content
            if entry.line.kind == "note", case .string(let kind)? = content?["kind"],
                kind.hasPrefix("action.")
            {
                break
            }
            guard entry.line.action == number else { continue }
            if let timer = RecordedTimer(entry.line) { found.append(timer) }
        }
        return found
    }

    private func begin(
        _ decoded: R.Action, by subject: String?, _ number: UInt64, _ timers: [RecordedTimer]
    ) {
        let core = ReactorCore(reactor: reactor, state: state, version: version)
        let made = MadeMutations<R>(timers)
        let outcome = core.receive(
            decoded, tag: ActionTag(max(number, 1)), subject: subject, observer: made)
        let expected = outcome == .refused ? [] : made.mutations
        last = LastAction(
            number: number, expected: expected, isAtOnce: true,
            endsSession: outcome != .refused && core.endsItself)
        if case .accepted(_, isSettled: false) = outcome { withEffects.insert(number) }
    }

    /// Something else has happened since the action was received.
    private func leaveAction(unless line: ExportLine) {
        if (line.action ?? 0) != last.number { last.isAtOnce = false }
    }

    /// A mutation that is made today and was not when all of the action's were recorded.
    private func surplus() -> ReplayDifference? {
        guard let next = last.expected.first else {
            guard last.endsSession else { return nil }
            return difference(
                version, "today the action ends the session; in the export it continues")
        }
        return difference(
            version + 1,
            "today there is the mutation \(ReplayJSON.text(next)); the export has none")
    }

    // MARK: Mutations

    private func readMutation(
        _ entry: ExportedSession.Entry
    ) throws(ReplayFault) -> ReplayDifference? {
        let line = entry.line
        guard line.version == version + 1 else {
            throw fault(entry, "it follows version \(version)")
        }
        guard let content = line.content else {
            guard line.contentText == nil else { throw fault(entry, "its content is not JSON") }
            // A stub showed another state.
            last.isAtOnce = false
            version += 1
            return nil
        }
        let recorded = try mutation(content, entry)
        if let difference = difference(of: recorded, line.action ?? 0) { return difference }
        leaveAction(unless: line)
        reactor.reduce(state: &state, mutation: recorded)
        version += 1
        if let difference = comparePulses(line) { return difference }
        return try compareState(line)
    }

    private func mutation(
        _ content: JSONValue, _ entry: ExportedSession.Entry
    ) throws(ReplayFault) -> R.Mutation {
        do {
            let saved = SavedJSON(bytes: ReplayJSON.bytes(content))
            guard form != R.stateVersion else { return try saved.decode(R.Mutation.self) }
            return try R.migrate(mutation: SavedValue(stateVersion: form, decoder: saved))
        } catch {
            throw fault(entry, "the mutation can't be decoded: \(ReplayJSON.sentence(of: error))")
        }
    }

    /// Compares a recorded mutation with the next one that is made today.
    private func difference(of recorded: R.Mutation, _ number: UInt64) -> ReplayDifference? {
        let place = version + 1
        if let next = last.expected.first {
            guard number == last.number,
                JSON.areSame(ReplayJSON.encoded(next), ReplayJSON.encoded(recorded))
            else {
                return difference(
                    place,
                    "today the mutation is \(ReplayJSON.text(next)); the export has "
                        + ReplayJSON.text(recorded))
            }
            last.expected.removeFirst()
            return nil
        }
        if number == last.number, last.isAtOnce {
            return difference(
                place, "today there is no mutation; the export has \(ReplayJSON.text(recorded))")
        }
        guard number == 0 || number <= firstAction || withEffects.contains(number) else {
            return difference(
                place,
                "today the action has no effect that could make \(ReplayJSON.text(recorded))",
                number)
        }
        return nil
    }

    // MARK: States

    /// The pulses of a state that was read count as seen.
    private func look() {
        let shown = shownState
        marks = pulses.map { $0.mark(in: shown) }
    }

    private var shownState: R.State { (try? reactor.transform(state: state)) ?? state }

    private func comparePulses(_ line: ExportLine) -> ReplayDifference? {
        let shown = shownState
        var recorded: [String: JSONValue] = [:]
        for event in line.events ?? [] {
            recorded.updateValue(event.data ?? .null, forKey: event.name)
        }
        var found: ReplayDifference?
        for (index, pulse) in pulses.enumerated() {
            let mark = pulse.mark(in: shown)
            defer { marks[index] = mark }
            let value = recorded.removeValue(forKey: pulse.name)
            guard mark.isAssignment(since: marks[index]) else {
                if let value, found == nil {
                    found = difference(
                        version,
                        "today the pulse \(pulse.name) is not assigned; the export has "
                            + ReplayJSON.text(value), line.action)
                }
                continue
            }
            var reading = PulseText()
            pulse.withValue(in: shown, &reading)
            let isSame = value.map { JSON.areSame(reading.bytes, ReplayJSON.bytes($0)) } ?? false
            guard found == nil, !isSame else { continue }
            found = difference(
                version,
                "today the pulse \(pulse.name) is "
                    + String(decoding: reading.bytes, as: UTF8.self) + "; "
                    + (value.map { "the export has \(ReplayJSON.text($0))" }
                        ?? "the export has no assignment"),
                line.action)
        }
        guard found == nil, let other = recorded.keys.min() else { return found }
        return difference(
            version, "today the state has no pulse \(other); the export has one", line.action)
    }

    private func compareState(_ line: ExportLine) throws(ReplayFault) -> ReplayDifference? {
        guard let snapshot = session.snapshots[version] else { return nil }
        let saved = try Self.state(of: snapshot, reactor)
        form = snapshot.stateVersion ?? form
        guard JSON.areSame(ReplayJSON.encoded(saved), ReplayJSON.encoded(state)) else {
            return difference(
                version,
                "today the state is \(ReplayJSON.text(state)); the export has "
                    + "\(ReplayJSON.text(saved)); the last version with equal states is \(agreed)",
                line.action)
        }
        agreed = version
        return nil
    }

    private static func state(
        of snapshot: ExportLine, _ reactor: R
    ) throws(ReplayFault) -> R.State {
        let form = snapshot.stateVersion ?? R.stateVersion
        do {
            let saved = SavedJSON(bytes: ReplayJSON.bytes(snapshot.state ?? .null))
            guard form != R.stateVersion else {
                return try JSON.decode(R.State.self, stored: saved.bytes) {
                    var initial: [UInt8] = []
                    // Without JSON of the initial state the saved one is decoded by itself.
                    guard (try? JSON.encode(reactor.initialState, into: &initial)) != nil else {
                        return nil
                    }
                    return initial
                }
            }
            return try R.migrate(state: SavedValue(stateVersion: form, decoder: saved))
        } catch {
            throw ReplayFault(
                line: nil,
                reason: "the saved state of version \(snapshot.version ?? 0) can't be decoded: "
                    + ReplayJSON.sentence(of: error))
        }
    }

    // MARK: Texts

    private func fault(_ entry: ExportedSession.Entry, _ reason: String) -> ReplayFault {
        let line = entry.line
        return ReplayFault(
            line: entry.lineNumber,
            reason: "record \(line.record ?? 0), version \(line.version ?? 0): \(reason)")
    }

    private func difference(
        _ version: UInt64, _ reason: String, _ number: UInt64? = nil
    ) -> ReplayDifference {
        ReplayDifference(
            version: version, action: number ?? last.number, reason: reason, agreed: agreed)
    }
}

/// The outcome of an effect that sets a timer.
private enum RecordedTimer: Equatable {
    case set(String)
    case failed(EffectLimitReached)

    /// Nil if the line says nothing about setting a timer.
    init?(_ line: ExportLine) {
        if line.kind == "note", case .string("timer.set")? = line.content?["kind"],
            case .string(let name)? = line.content?["content"]?["name"]
        {
            self = .set(name)
        } else if line.kind == "failure", case .string(let error)? = line.content?["error"],
            let limit = [EffectLimitReached.timers, .timerAction].first(where: { "\($0)" == error })
        {
            self = .failed(limit)
        } else {
            return nil
        }
    }
}

/// Gathers the mutations that an action makes at once; effects do not start.
private final class MadeMutations<R: Reactor>: ReactorCoreObserver {
    private(set) var mutations: [R.Mutation] = []
    /// The recorded outcomes for the action's timers that are not used yet, in order.
    private var timers: ArraySlice<RecordedTimer>

    init(_ timers: [RecordedTimer]) { self.timers = timers[...] }

    func schedule(
        _ action: R.Action, as name: EffectID, _ time: TimerTime, by tag: ActionTag
    ) -> (any Error)? {
        guard let next = timers.first else { return nil }
        if case .failed(let limit) = next {
            timers.removeFirst()
            return limit
        }
        if next == .set(name.name) { timers.removeFirst() }
        return nil
    }

    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        mutations.append(mutation)
    }

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {}
    func failed(_ failure: ReactorFailure) {}
    func start(_ run: EffectRun<R>) {}
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {}
    func settled(_ action: ActionTag) {}
}
