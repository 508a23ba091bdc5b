import Cluster
import Sessions
import Storage
import TestRandomness

/// A random life of two sessions on three nodes.
final class ClusterSimulation {
    /// Counts of events in the lives of a test.
    struct Tally {
        var acknowledged = 0
        var claims = 0
        var fenced = 0
        var deposed = 0
        var unknown = 0
        var confirmed = 0
        var aged = 0
        var elsewhere = 0
        /// Blocks that readers have got.
        var heard = 0
        /// Questions of followers.
        var followed = 0
        /// Hints that were delivered.
        var hinted = 0
    }

    /// A request and what has become of it. Moments are numbers of steps.
    private struct Request {
        enum Kind { case post(mark: Int), read }
        var kind: Kind
        var session: String
        var sent: Int
        var answered: Int?
        var outcome = Outcome.none
        /// The version in the answer.
        var version: UInt64 = 0
        var state = ""
        /// The age of a read's state, in seconds.
        var age: Int64?
        /// By the clock, which all nodes share.
        var time: Int64 = 0
    }

    private enum Outcome { case none, done, refused, unknown }

    /// One process.
    private final class Process {
        let node: ScriptedNode
        let rig: Rig
        var isPaused = false
        /// The number of answers that were looked at.
        var seen = 0
        /// The index of the request of a token.
        var requests: [UInt64: Int] = [:]

        init(_ node: ScriptedNode, _ registration: Registration) {
            self.node = node
            rig = Rig(
                node: node, registrations: [registration], snapshotEvery: 4, deliveries: .least)
            let inbox = rig.inbox
            node.watch { change in _ = inbox.put { $0.ownershipChanged(change) } }
        }
    }

    private var generator: SeededGenerator
    private let cluster: ScriptedCluster
    private let links = ScriptedLinks()
    private let registration: Registration
    private var processes: [Process] = []
    private var lastNode: Int64 = 0
    private var requests: [Request] = []
    private var step = 0
    private var time: Int64 = 0
    private var violations: [String] = []
    private var readers: [WanderingReader] = []
    private var followQuestions = 0
    private static let sessions = ["s", "t"]

    static func run(
        seed: UInt64, _ fault: ScriptedFault? = nil, hasFence: Bool = true
    ) throws -> [String] {
        var tally = Tally()
        return try run(seed: seed, on: ScriptedCluster(fault: fault, hasFence: hasFence), &tally)
    }

    static func run(seed: UInt64, _ tally: inout Tally) throws {
        _ = try run(seed: seed, on: ScriptedCluster(), &tally)
    }

    private static func run(
        seed: UInt64, on cluster: ScriptedCluster, _ tally: inout Tally
    ) throws -> [String] {
        let life = try ClusterSimulation(seed: seed, on: cluster)
        for _ in 0..<240 { life.act() }
        try life.finish()
        life.count(&tally)
        return life.violations
    }

    private init(seed: UInt64, on cluster: ScriptedCluster) throws {
        generator = SeededGenerator(seed: seed)
        self.cluster = cluster
        registration = try .ledger()
        for _ in 0..<3 { processes.append(begin()) }
        for id in Self.sessions { try processes[0].rig.create(id, registration) }
        settle()
        let selections: [Selection] = [
            .allPulses, .allStates, .everything, .log, try .part("/a"), try .part("/touched"),
        ]
        for id in Self.sessions.compactMap(SessionID.init) {
            for _ in 0..<2 {
                readers.append(WanderingReader(id, selections[number(0..<selections.count)]))
            }
        }
    }

    private func begin() -> Process {
        lastNode += 1
        let process = Process(
            ScriptedNode(lastNode, of: cluster, isImmediate: false), registration)
        process.node.beat()
        process.rig.clock.uptime = time
        links.add(process.node.node, process.rig.table)
        return process
    }

    private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    // MARK: Steps

    private func act() {
        step += 1
        let process = processes[number(0..<processes.count)]
        switch number(0..<66) {
        case 0..<9: post(at: process)
        case 9..<14: read(at: process)
        case 14..<24: run(process)
        case 24..<31: carryOut(at: process)
        case 31..<34: for _ in 0..<4 where process.node.waitingCount > 0 { deliver(at: process) }
        case 34: process.isPaused.toggle()
        case 35: cluster.leave(process.node.node)
        case 36: beat(process)
        case 37: if !process.isPaused { process.rig.table.tick() }
        case 38: advance(by: 400)
        case 39..<42: settle(process)
        case 42: takeOver(from: process)
        case 43..<47: connect(readers[number(0..<readers.count)], to: process)
        case 47: readers[number(0..<readers.count)].disconnect()
        case 48..<55: follow(at: process)
        case 55..<65: post(someLetters: number(1..<4))
        default: if number(0..<4) == 0 { kill(process) }
        }
    }

    /// Others may own the sessions of a process that does not know of it.
    private func takeOver(from process: Process) {
        cluster.leave(process.node.node)
        let other = processes[number(0..<processes.count)]
        post(at: other)
        settle(other)
        read(at: process)
        if number(0..<2) == 0 { settle(process) }
    }

    /// Carries out what a process has sent, and what follows from it.
    private func settle(_ process: Process) {
        guard !process.isPaused else { return }
        repeat {
            run(process)
            process.node.settle()
        } while !process.rig.inbox.isEmpty
        run(process)
    }

    private func run(_ process: Process) {
        guard !process.isPaused else { return }
        process.rig.drainInbox()
        process.rig.endRound()
        collect(process)
    }

    private func carryOut(at process: Process) {
        let count = process.node.waitingCount
        guard count > 0 else { return }
        let isCut = number(0..<25) == 0
        process.node.carryOut(number(0..<count), failing: isCut ? .unavailable : nil)
    }

    private func deliver(at process: Process) {
        process.node.deliver(number(0..<process.node.waitingCount))
    }

    private func beat(_ process: Process) {
        cluster.join(process.node.member)
        process.node.beat(owning: process.rig.table.owned)
    }

    private func advance(by milliseconds: Int64) {
        time += milliseconds
        for process in processes {
            process.rig.clock.uptime = time
            guard !process.isPaused else { continue }
            process.rig.table.answerLateReads()
            collect(process)
        }
    }

    private func kill(_ process: Process) {
        guard let index = processes.firstIndex(where: { $0 === process }) else { return }
        collect(process)
        process.node.kill()
        links.remove(process.node.node)
        process.rig.output.breakAll()
        process.rig.table.stop()
        followQuestions += Int(process.rig.table.counts.followed.questions)
        processes[index] = begin()
    }

    // MARK: Streams

    private func connect(_ reader: WanderingReader, to process: Process) {
        reader.disconnect()
        if !process.isPaused { reader.connect(to: process.rig) }
    }

    /// A quarter of a second is over.
    private func follow(at process: Process) {
        guard !process.isPaused else { return }
        process.rig.table.askForChanges()
        run(process)
        if number(0..<2) == 0 { settle(process) }
    }

    /// Letters on the links arrive, in any order, and perhaps once more; or they are lost, or the links of
    /// a node break.
    private func post(someLetters count: Int) {
        for _ in 0..<min(count, links.count) {
            guard links.count > 0 else { return }
            let index = number(0..<links.count)
            let process = processes.first { $0.node.node == links.recipient(index) }
            switch number(0..<20) {
            case 0: links.lose(index)
            case 1: links.breakLinks(to: processes[number(0..<processes.count)].node.node)
            default:
                guard let process, !process.isPaused else { continue }
                links.deliver(index, isKept: number(0..<8) == 0)
                run(process)
            }
        }
    }

    /// Every reader has a stream and gets what there is.
    private func finishStreams() {
        for _ in 0..<3 {
            for reader in readers where !reader.isConnected {
                reader.disconnect()
                reader.connect(to: processes[number(0..<processes.count)].rig)
            }
            settle()
            // Some hints are lost for ever.
            advance(by: 1_000)
            for process in processes { process.rig.table.askForChanges() }
            settle()
        }
    }

    // MARK: Requests

    private func post(at process: Process) {
        let id = Self.sessions[number(0..<2)]
        let index = requests.count
        let mark = index + 1
        requests.append(Request(kind: .post(mark: mark), session: id, sent: step))
        guard !process.isPaused, let name = SessionID(id) else { return end(index, .refused) }
        fetch(name, at: process) { [unowned self, unowned process] found in
            post(mark, index, to: found, at: process)
        }
    }

    private func fetch(
        _ name: SessionID, at process: Process, then act: @escaping (SessionLookup) -> Void
    ) {
        let found = process.rig.table.find(name)
        guard case .notInMemory = found else { return act(found) }
        process.rig.table.wake(name, then: act)
    }

    private func post(_ mark: Int, _ index: Int, to found: SessionLookup, at process: Process) {
        guard case .session(let session) = found else { return end(index, .refused) }
        do {
            // Before the call: the answer may come within.
            process.requests[process.rig.lastToken + 1] = index
            try process.rig.post(Post.set(mark), to: session)
        } catch {
            end(index, .refused)
        }
    }

    private func read(at process: Process) {
        let id = Self.sessions[number(0..<2)]
        let index = requests.count
        requests.append(Request(kind: .read, session: id, sent: step))
        guard !process.isPaused, let name = SessionID(id) else { return end(index, .refused) }
        let freshness: Freshness =
            [.confirmed, .preferred, .preferred, .stale(seconds: 1)][number(0..<4)]
        process.rig.table.read(name, freshness) { [unowned self, unowned process] found, age in
            guard case .session(let session) = found else { return end(index, .refused) }
            requests[index].age = age.seconds
            // Of the moment at which the age was known.
            requests[index].time = time
            process.requests[process.rig.lastToken + 1] = index
            _ = process.rig.read(session)
        }
    }

    private func end(_ index: Int, _ outcome: Outcome) {
        requests[index].answered = step
        requests[index].outcome = outcome
    }

    /// Looks at the new answers of a process.
    private func collect(_ process: Process) {
        let answers = process.rig.output.answers
        for answer in answers[process.seen...] {
            guard let index = process.requests[answer.token] else { continue }
            requests[index].version = answer.content.version
            switch answer.content.kind {
            case .received: end(index, .done)
            case .state(let state, let version):
                requests[index].version = version
                requests[index].state = String(decoding: state, as: UTF8.self)
                end(index, .done)
            case .failed(let failure):
                end(index, failure.reason == .outcomeUnknown ? .unknown : .refused)
            default: end(index, .refused)
            }
        }
        process.seen = answers.count
    }

    // MARK: The end

    /// Carries out everything.
    private func settle() {
        for process in processes { process.isPaused = false }
        repeat {
            for process in processes {
                process.node.settle()
                run(process)
                process.rig.deliverAll()
            }
        } while processes.contains { $0.node.waitingCount > 0 || !$0.rig.inbox.isEmpty }
    }

    private func finish() throws {
        settle()
        for process in processes { beat(process) }
        settle()
        let before = requests.count
        for id in Self.sessions { try finish(id) }
        for request in requests[before...] where request.outcome != .done {
            violations.append("after the last fault a request for \(request.session) fails")
        }
        finishStreams()
        for id in Self.sessions { try check(id) }
        for process in processes {
            followQuestions += Int(process.rig.table.counts.followed.questions)
            process.rig.table.stop()
        }
    }

    /// Each session takes a post, and is read on every node.
    private func finish(_ id: String) throws {
        guard let name = SessionID(id) else { return }
        step += 1
        var isTaken = false
        for process in processes where !isTaken {
            let index = requests.count
            requests.append(Request(kind: .post(mark: index + 1), session: id, sent: step))
            fetch(name, at: process) { [unowned self, unowned process] found in
                post(index + 1, index, to: found, at: process)
            }
            settle()
            isTaken = requests[index].outcome == .done
            if !isTaken { requests.removeLast() }
        }
        if !isTaken { violations.append("no node takes a post for \(id)") }
        step += 1
        for process in processes {
            let index = requests.count
            requests.append(Request(kind: .read, session: id, sent: step))
            process.rig.table.read(name, .confirmed) { [unowned self, unowned process] found, _ in
                guard case .session(let session) = found else { return end(index, .refused) }
                process.requests[process.rig.lastToken + 1] = index
                _ = process.rig.read(session)
            }
            settle()
        }
    }

    private func check(_ id: String) throws {
        let records = cluster.journal.kept.filter { $0.session == id }
        guard let first = records.first else { return violations.append("\(id) is lost") }
        let truth = try Truth(cluster.journal.all, of: first.key)
        if !truth.isGapless { violations.append("the history of \(id) has a gap or forks") }
        var versions: [Int: [UInt64]] = [:]
        for record in records where record.kind == .mutation {
            if let mark = Self.mark(of: record) {
                versions[mark, default: []].append(record.version)
            }
        }
        let mine = requests.filter { $0.session == id }
        for request in mine { check(request, versions, truth) }
        checkOrder(mine)
        for reader in readers where reader.session.text == id {
            violations += reader.violations(against: truth)
        }
    }

    private func check(
        _ request: Request, _ versions: [Int: [UInt64]], _ truth: Truth
    ) {
        switch request.kind {
        case .post(let mark):
            let found = versions[mark] ?? []
            switch request.outcome {
            case .done where found != [request.version]:
                violations.append("acknowledged at \(request.version), and is at \(found)")
            case .refused where !found.isEmpty: violations.append("refused, and is at \(found)")
            case .none where found.count > 1, .unknown where found.count > 1:
                violations.append("twice, at \(found)")
            default: break
            }
        case .read:
            guard request.outcome == .done else { return }
            guard request.version < UInt64(truth.states.count) else {
                return violations.append("a read of version \(request.version), which is none")
            }
            if request.state != truth.states[Int(request.version)] {
                violations.append("a read of version \(request.version) shows another state")
            }
        }
    }

    /// The order in real time: what was answered before a request was sent comes before it.
    private func checkOrder(_ mine: [Request]) {
        let done = mine.filter { $0.outcome == .done }
        for earlier in done where earlier.age == nil {
            guard let answered = earlier.answered else { continue }
            for later in done where later.sent > answered {
                switch (later.kind, later.age) {
                case (.post, _) where later.version <= earlier.version:
                    violations.append("a later post is at \(later.version), not later")
                case (.read, nil) where later.version < earlier.version:
                    violations.append("a later read sees \(later.version) of \(earlier.version)")
                default: break
                }
            }
        }
        // A state of an age is not older than that.
        for read in done {
            guard let age = read.age else { continue }
            for earlier in done where earlier.age == nil && earlier.time > 0 {
                guard earlier.time < read.time - age * 1_000, case .read = earlier.kind else {
                    continue
                }
                if read.version < earlier.version {
                    violations.append("a state of age \(age) is older than that")
                }
            }
        }
    }

    private static func mark(of record: HistoryEntry) -> Int? {
        let text = String(decoding: record.content, as: UTF8.self)
        guard let start = text.firstRange(of: "\"a\":") else { return nil }
        return Int(text[start.upperBound...].prefix { $0.isNumber })
    }

    private func count(_ tally: inout Tally) {
        for request in requests {
            switch (request.kind, request.outcome) {
            case (.post, .done): tally.acknowledged += 1
            case (.post, .unknown): tally.unknown += 1
            case (.read, .done) where request.age == nil: tally.confirmed += 1
            case (.read, .done): tally.aged += 1
            default: break
            }
        }
        tally.heard += readers.reduce(0) { $0 + $1.heard }
        tally.followed += followQuestions
        tally.hinted += links.hinted
        tally.claims += cluster.claims
        tally.fenced += cluster.fenced
        for process in processes {
            let counts = process.rig.table.counts
            tally.deposed += Int(counts.claims.deposed)
            tally.elsewhere += Int(counts.claims.elsewhere)
        }
    }
}
