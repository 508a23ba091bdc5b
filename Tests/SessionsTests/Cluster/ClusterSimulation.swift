import Cluster
import Clustering
import Storage
import TestRandomness

@testable import Feeds
@testable import Sessions

/// A random life of sessions on three nodes. There are two sessions, or a crowd. Of a crowd, a node
/// follows more sessions than it claims at a time.
final class ClusterSimulation {
    /// A request and what has become of it. Moments are numbers of steps.
    struct Request {
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

    enum Outcome { case none, done, refused, unknown }

    /// One process.
    final class Process {
        let node: ScriptedNode
        let rig: Rig
        let topics = TopicEnd()
        let parts: PartEnd
        var isPaused = false
        /// The number of answers that were looked at.
        var seen = 0
        /// The index of the request of a token.
        var requests: [UInt64: Int] = [:]
        /// Requests and streams that wait for their sessions; each may be a claim.
        var lookUps = 0

        init(_ node: ScriptedNode, _ registrations: [Registration], _ links: ScriptedLinks) {
            self.node = node
            rig = Rig(
                node: node, registrations: registrations, snapshotEvery: 4, deliveries: .least,
                replicasFrom: [0, Int.max][Int(node.node.number % 2)])
            let inbox = rig.inbox
            parts = PartEnd(node, rig, links)
            rig.table.topics.deliver = { [topics] value, _, place, _ in
                topics.receive(value, at: place)
                return nil
            }
            node.watch { change in _ = inbox.put { $0.ownershipChanged(change) } }
        }
    }

    private var generator: SeededGenerator
    let cluster: ScriptedCluster
    let sessions: [String]
    let links: ScriptedLinks
    private let registration: Registration
    let pot: Registration
    let alarm: Registration
    let hasTimers: Bool
    var wallTime: Int64 = 1_709_251_199_999
    var timersFired = 0
    /// The number of nodes that have fired some.
    var firingNodes = 0
    private(set) var processes: [Process] = []
    private var lastNode: Int64 = 0
    private(set) var requests: [Request] = []
    private var step = 0
    private(set) var time: Int64 = 0
    var violations: [String] = []
    private(set) var readers: [WanderingReader] = []
    private(set) var followQuestions = 0
    private(set) var received = 0
    private(set) var spread = 0
    private(set) var states = 0
    /// Of events that only a crowd meets.
    var crowd = CrowdCounts()
    var topics = TopicLife()
    var parts = PartLife()
    /// The readers whose last set had names of other nodes, of those that a life ends with.
    var presenceElsewhere = 0

    static func run(
        seed: UInt64, _ fault: ScriptedFault? = nil, hasFence: Bool = true
    ) throws -> [String] {
        var tally = Tally()
        return try run(seed: seed, on: ScriptedCluster(fault: fault, hasFence: hasFence), &tally)
    }

    @discardableResult
    static func run(
        seed: UInt64, on cluster: ScriptedCluster = ScriptedCluster(), crowd: Int? = nil,
        sendsPartsTwice: Bool = false, timers: Bool = false, _ tally: inout Tally
    ) throws -> [String] {
        let sessions = crowd.map { (0..<$0).map { "s\($0)" } } ?? ["s", "t"]
        let life = try ClusterSimulation(seed: seed, on: cluster, sessions, timers)
        life.links.sendsPartsTwice = sendsPartsTwice
        for _ in 0..<270 { life.act() }
        if crowd != nil { life.actAsCrowd() }
        try life.finish()
        life.count(&tally)
        return life.violations
    }

    private init(
        seed: UInt64, on cluster: ScriptedCluster, _ sessions: [String], _ hasTimers: Bool
    ) throws {
        self.hasTimers = hasTimers
        alarm = try .of("alarm") { Alarm() }
        generator = SeededGenerator(seed: seed)
        self.cluster = cluster
        self.sessions = sessions
        links = ScriptedLinks(sendsRecords: !seed.isMultiple(of: 4))
        registration = try .ledger()
        pot = try Pot.registration()
        connectParts()
        for _ in 0..<3 { processes.append(begin()) }
        try createParent()
        try createAlarms()
        for id in sessions { try processes[0].rig.create(id, registration) }
        settle()
        let selections: [Selection] = [
            .allPulses, .allStates, .everything, .log, try .part("/a"), try .part("/touched"),
        ]
        for (index, id) in sessions.enumerated() {
            guard let name = SessionID(id) else { continue }
            let turn = index + Int(seed % 6)
            for part in Self.parts(of: id, turn, isCrowd: sessions.count > 2) {
                let selection = selections[number(0..<selections.count)]
                readers.append(WanderingReader(name, selection, part))
            }
        }
    }

    private func begin() -> Process {
        lastNode += 1
        let process = Process(
            ScriptedNode(
                lastNode, of: cluster, isImmediate: false,
                reactors: [
                    registration.name: registration.stateVersion, pot.name: 1, alarm.name: 1,
                    Registration.topicName: Registration.topic.stateVersion,
                ]),
            [registration, pot, alarm, .topic], links)
        process.node.beat()
        process.rig.clock.uptime = time
        process.rig.clock.milliseconds = wallTime
        links.add(process.node.node, process.rig.table)
        topics.ends.append((process.node.node, process.topics))
        process.rig.table.topics.begin([TopicLife.topic])
        return process
    }

    func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    // MARK: Steps

    private func act() {
        step += 1
        let process = processes[number(0..<processes.count)]
        actOnTimers(at: process)
        switch number(0..<88) {
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
        case 55..<58: handOver(process)
        case 58: wake(at: process)
        case 59..<61: sendHome(from: process)
        case 61..<71: post(someLetters: number(1..<4))
        case 72..<76: publish(at: process)
        case 76..<78: post(someLetters: links.count)
        case 78..<84: forward(at: process)
        case 84..<88: overtake()
        default: if number(0..<4) == 0 { kill(process) }
        }
    }

    /// A search has found the sessions.
    private func wake(at process: Process) {
        guard !process.isPaused else { return }
        process.rig.table.wakeWorking(sessions.compactMap { SessionID($0) }) {}
        run(process)
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
    func settle(_ process: Process) {
        guard !process.isPaused else { return }
        repeat {
            run(process)
            process.node.settle()
        } while !process.rig.inbox.isEmpty
        run(process)
    }

    func run(_ process: Process) {
        guard !process.isPaused else { return }
        process.rig.drainInbox()
        process.rig.endRound()
        collect(process)
        checkClaims(of: process)
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

    func beat(_ process: Process) {
        cluster.join(process.node.member)
        process.node.beat(owning: process.rig.table.owned)
    }

    func advance(by milliseconds: Int64) {
        time += milliseconds
        for process in processes {
            process.rig.clock.uptime = time
            guard !process.isPaused else { continue }
            process.rig.table.answerLateReads()
            collect(process)
        }
    }

    func kill(_ process: Process) {
        guard let index = processes.firstIndex(where: { $0 === process }) else { return }
        collect(process)
        process.node.kill()
        links.remove(process.node.node)
        process.rig.output.breakAll()
        process.rig.table.stop()
        countFollowed(at: process)
        countFiring(process)
        processes[index] = begin()
    }

    private func countFollowed(at process: Process) {
        let counts = process.rig.table.clusterCounts.followed
        followQuestions += Int(counts.questions)
        received += Int(counts.received)
    }

    // MARK: Streams

    func connect(_ reader: WanderingReader, to process: Process) {
        reader.disconnect()
        guard !process.isPaused else { return }
        process.lookUps += 1
        reader.connect(to: process.rig) { [unowned process] in process.lookUps -= 1 }
    }

    /// A quarter of a second is over.
    func follow(at process: Process) {
        guard !process.isPaused else { return }
        process.rig.table.askForChanges()
        run(process)
        for id in sessions.compactMap({ SessionID($0) }) {
            guard let feed = process.rig.table.asleep(id), feed.isElsewhere else { continue }
            if feed.hasReplicas { spread += 1 }
            if feed.streams.all.contains(where: { $0.keptState != nil }) { states += 1 }
        }
        if number(0..<2) == 0 { settle(process) }
    }

    /// Letters on the links arrive, in any order, and perhaps once more; or they are lost, or the
    /// links of a node break.
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
                connect(reader, to: processes[number(0..<processes.count)])
            }
            settle()
            // Some hints are lost for ever.
            advance(by: 1_000)
            for process in processes { process.rig.table.askForChanges() }
            settle()
        }
    }

    // MARK: Requests

    func post(at process: Process) {
        post(to: sessions[number(0..<sessions.count)], at: process)
    }

    func post(to id: String, at process: Process) {
        let index = requests.count
        let mark = index + 1
        requests.append(Request(kind: .post(mark: mark), session: id, sent: step))
        guard !process.isPaused, let name = SessionID(id) else { return end(index, .refused) }
        fetch(name, at: process) { [unowned self, unowned process] found in
            post(mark, index, to: found, at: process)
        }
    }

    func fetch(
        _ name: SessionID, at process: Process, then act: @escaping (SessionLookup) -> Void
    ) {
        let found = process.rig.table.find(name)
        guard case .notInMemory = found else { return act(found) }
        process.lookUps += 1
        process.rig.table.wake(name) { [unowned process] found in
            process.lookUps -= 1
            act(found)
        }
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
        let id = sessions[number(0..<sessions.count)]
        let index = requests.count
        requests.append(Request(kind: .read, session: id, sent: step))
        guard !process.isPaused, let name = SessionID(id) else { return end(index, .refused) }
        let freshness: Freshness =
            [.confirmed, .preferred, .preferred, .stale(seconds: 1)][number(0..<4)]
        process.rig.table.read(name, freshness) { [unowned self, unowned process] found, age in
            guard let session = found.readable else { return end(index, .refused) }
            requests[index].age = age.seconds
            // Of the moment at which the age was known.
            requests[index].time = time
            process.requests[process.rig.lastToken + 1] = index
            _ = process.rig.read(session)
        }
    }

    func end(_ index: Int, _ outcome: Outcome) {
        requests[index].answered = step
        requests[index].outcome = outcome
    }

    /// Looks at the new answers of a process.
    private func collect(_ process: Process) {
        let answers = process.rig.output.answers
        for answer in answers[process.seen...] {
            if let value = process.topics.tokens[answer.token] {
                switch answer.content.kind {
                case .received: topics.outcomes[value] = .done
                case .failed(let failure) where failure.reason == .outcomeUnknown:
                    topics.outcomes[value] = .unknown
                default: topics.outcomes[value] = .refused
                }
            }
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
    func settle() {
        for process in processes { process.isPaused = false }
        repeat {
            for process in processes {
                process.node.settle()
                run(process)
                process.rig.deliverAll()
            }
        } while processes.contains { $0.node.waitingCount > 0 || $0.rig.hasWork }
    }

    private func finish() throws {
        settle()
        for process in processes { beat(process) }
        settle()
        for id in sessions { try finish(id) }
        if !cluster.hasFence { finishTopics() }
        finishStreams()
        finishPresence()
        for id in sessions { try check(id) }
        checkTopics()
        finishParts()
        finishTimers()
        for process in processes {
            countFollowed(at: process)
            process.rig.table.stop()
        }
    }

    /// Each session takes a post at every node, and is read there.
    private func finish(_ id: String) throws {
        guard let name = SessionID(id) else { return }
        for process in processes {
            step += 1
            // Without a fence the owner may not know of a record, and the chain refuses
            // its next one.
            let tries = cluster.hasFence ? 1 : 2
            let isTaken = (0..<tries).contains { _ in isPosted(name, at: process) }
            if !isTaken { violations.append("no node takes a post for \(id)") }
        }
        step += 1
        for process in processes {
            let index = requests.count
            requests.append(Request(kind: .read, session: id, sent: step))
            process.rig.table.read(name, .confirmed) { [unowned self, unowned process] found, _ in
                guard let session = found.readable else { return end(index, .refused) }
                process.requests[process.rig.lastToken + 1] = index
                _ = process.rig.read(session)
            }
            settle()
            guard requests[index].outcome != .done else { continue }
            violations.append("after the last fault a read of \(id) fails")
        }
    }

    /// Posts at a node and at those to which it refers, as often as a request is sent on.
    private func isPosted(_ name: SessionID, at first: Process) -> Bool {
        var next: Process? = first
        for _ in 0..<Forwarding.Limits.request.tries {
            guard let process = next else { return false }
            next = nil
            let index = requests.count
            requests.append(
                Request(kind: .post(mark: index + 1), session: name.text, sent: step))
            fetch(name, at: process) { [unowned self, unowned process] found in
                if case .elsewhere(let owner, _) = found {
                    next = processes.first { $0.node.node == owner.node }
                }
                post(index + 1, index, to: found, at: process)
            }
            settle()
            if requests[index].outcome == .done { return true }
        }
        return false
    }
}
