import Cluster
import Clustering
import Cyclers
import JSONCoding
import Reactors
import Storage
import Synchronization

@testable import Feeds
@testable import Sessions

/// The parent of the parts of a life.
final class Pot: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case put(mark: Int)
        case refuse
    }

    struct State: Codable, Sendable {
        var mark = 0
    }

    struct Refusal: Error {}

    let state: Storage<State> = .init(.init())

    func receive(_ action: Action) async throws {
        switch action {
        case .put(let mark): commit { $0.update(mark, \.mark) }
        case .refuse: throw Refusal()
        }
    }

    static func registration() throws -> Registration {
        try Registration(name: "pot", activities: [], examples: [], makeCycler: { Pot() })
    }
}

/// A message about an action of a part. The number is that of the sender's try.
enum PartLetter {
    case action(Int, LinkedAction)
    case outcome(Int, PartOutcome)
}

/// An action as a link carries it.
struct LinkedAction {
    var parent: SessionID
    var reactors: [String]
    var body: [UInt8]
}

/// Stands for `RequestForwarder`: sends the actions of a process's parts.
final class PartEnd: PartLinks {
    final class Trip {
        let part: PartAction
        var forwarding: Forwarding
        var asked: Node?

        init(_ part: PartAction, at now: Int64) {
            self.part = part
            forwarding = Forwarding(at: now, isRepeatable: false, .part)
        }
    }

    private let node: ScriptedNode
    private unowned let rig: Rig
    private let links: ScriptedLinks
    private var sent: [Int: Trip] = [:]
    private var paused: [Trip] = []
    private var lastNumber = 0
    /// Actions that wait for their parent here; each may be a claim.
    private(set) var lookUps = 0

    init(_ node: ScriptedNode, _ rig: Rig, _ links: ScriptedLinks) {
        (self.node, self.rig, self.links) = (node, rig, links)
        rig.table.cluster?.parts = self
    }

    private var now: Int64 { rig.clock.uptime * 1_000_000 }
    var isIdle: Bool { sent.isEmpty && paused.isEmpty }

    func send(_ part: PartAction) {
        let trip = Trip(part, at: now)
        let members = node.members
        if !part.isHere, let home = members.home(of: part.parent.text), home != node.node {
            send(trip, to: home)
        } else {
            lookUp(trip)
        }
    }

    private func send(_ trip: Trip, to node: Node) {
        guard let body = try? trip.part.encode() else { return trip.part.end(.unavailable("")) }
        trip.asked = node
        trip.forwarding.beginTry()
        lastNumber += 1
        sent[lastNumber] = trip
        let action = LinkedAction(
            parent: trip.part.parent, reactors: trip.part.reactors, body: body)
        links.send(.action(lastNumber, action), from: self.node.node, to: node)
    }

    private func lookUp(_ trip: Trip) {
        lookUps += 1
        rig.table.fetch(trip.part.parent) { [self] found in
            lookUps -= 1
            if case .elsewhere(let member, _) = found {
                return tryEnded(trip, .moved(member.node))
            }
            trip.forwarding.beginTry()
            trip.part.deliver(to: found) { [self] outcome in
                guard case .moved(let member) = outcome else { return trip.part.end(outcome) }
                tryEnded(trip, .moved(member?.node))
            }
        }
    }

    private func tryEnded(_ trip: Trip, _ ending: Forwarding.Ending) {
        if ending == .lost, links.sendsPartsTwice { return lookUp(trip) }
        switch trip.forwarding.next(after: ending, at: now, node.members) {
        case .send(let node): send(trip, to: node)
        case .lookUp, .sendLater: paused.append(trip)
        case .fail(.unreachable): trip.part.end(.unavailable(""))
        case .fail(.outcomeUnknown): trip.part.end(.unknown)
        }
    }

    /// The next tick.
    func resume() {
        let trips = paused
        paused = []
        for trip in trips { lookUp(trip) }
    }

    func receive(_ letter: PartLetter, from sender: Node) {
        switch letter {
        case .action(let number, let action):
            let own = node.node
            lookUps += 1
            rig.table.fetch(action.parent) { [self] found in
                rig.table.receivePart(found, by: nil, action.reactors, .json(action.body)) {
                    [self] outcome in
                    lookUps -= 1
                    links.send(.outcome(number, outcome), from: own, to: sender)
                }
            }
        case .outcome(let number, let outcome):
            guard let trip = sent.removeValue(forKey: number) else { return }
            if case .moved(let member) = outcome { return tryEnded(trip, .moved(member?.node)) }
            trip.part.end(outcome)
        }
    }

    /// A link has ended under the action.
    func lose(_ number: Int) {
        if let trip = sent.removeValue(forKey: number) { tryEnded(trip, .lost) }
    }

    /// - Parameter node: Nil: all links have ended.
    func loseLinks(to node: Node?) {
        for (number, trip) in sent.sorted(by: { $0.key < $1.key })
        where node == nil || trip.asked == node {
            lose(number)
        }
    }
}

/// The actions that parts of a life have sent.
struct PartLife {
    final class Sent: Sendable {
        /// Nil until the action has ended; each end.
        let ends = Mutex<[Result<Void, any Error>]>([])
        let mark: Int
        let refuses: Bool
        let node: Node

        init(_ mark: Int, refuses: Bool, at node: Node) {
            (self.mark, self.refuses, self.node) = (mark, refuses, node)
        }
    }

    static let parent = "pot"
    var actions: [Sent] = []
}

extension ClusterSimulation {
    func connectParts() {
        links.parts = { [unowned self] letter, sender, recipient in
            processes.first { $0.node.node == recipient }?.parts.receive(letter, from: sender)
        }
        links.lostPart = { [unowned self] letter, sender, recipient in
            // The end that waits is that of the node which has sent the action.
            switch letter {
            case .action(let number, _): end(of: sender)?.lose(number)
            case .outcome(let number, _): end(of: recipient)?.lose(number)
            }
        }
        links.broke = { [unowned self] node in
            for process in processes {
                process.parts.loseLinks(to: process.node.node == node ? nil : node)
            }
        }
    }

    private func end(of node: Node) -> PartEnd? {
        processes.first { $0.node.node == node }?.parts
    }

    func createParent() throws { try processes[0].rig.create(PartLife.parent, pot) }

    /// A crowd's claims are counted.
    private var isCrowd: Bool { sessions.count > 2 }

    /// A part at a process forwards an action.
    func forward(at process: Process) {
        guard !process.isPaused, !isCrowd, let parent = SessionID(PartLife.parent) else { return }
        process.parts.resume()
        let sent = PartLife.Sent(
            parts.actions.count + 1, refuses: number(0..<10) == 0, at: process.node.node)
        parts.actions.append(sent)
        let action = sent.refuses ? Pot.Action.refuse : .put(mark: sent.mark)
        let table = process.rig.table
        let waiter = PartWaiter { result in sent.ends.withLock { $0.append(result) } }
        CyclerMachine<Pot>.partAction(action, to: parent, by: nil, in: table, waiter).send()
        if number(0..<3) == 0 { settle(process) } else { run(process) }
    }

    // MARK: The oracle

    func finishParts() {
        for process in processes { process.parts.loseLinks(to: nil) }
        // Those that look for an owner do so for ten seconds.
        for _ in 0..<12 where processes.contains(where: { !$0.parts.isIdle }) {
            advance(by: 1_000)
            for process in processes { process.parts.resume() }
            settle()
            for process in processes { process.parts.loseLinks(to: nil) }
        }
        settle()
        var found: [Int: Int] = [:]
        for record in cluster.journal.kept where record.session == PartLife.parent {
            guard record.kind == .mutation, let mark = Self.potMark(of: record) else { continue }
            found[mark, default: 0] += 1
        }
        for sent in parts.actions { check(sent, found[sent.mark] ?? 0) }
    }

    private func check(_ sent: PartLife.Sent, _ count: Int) {
        let ends = sent.ends.withLock { $0 }
        let isGone = !processes.contains { $0.node.node == sent.node }
        if ends.count > 1 || ends.isEmpty && !isGone {
            violations.append("an action of a part has ended \(ends.count) times")
        }
        switch ends.first {
        case nil:
            if count > 1 { violations.append("an action of a part is there \(count) times") }
        case .success:
            if count != 1 {
                violations.append("an applied action of a part is there \(count) times")
            }
        case .failure(is CyclerParentOutcomeUnknown):
            if count > 1 { violations.append("an action of a part is there \(count) times") }
        case .failure(let error):
            if count != 0 { violations.append("a failed action of a part is there: \(error)") }
        }
    }

    private static func potMark(of record: HistoryEntry) -> Int? {
        let text = String(decoding: record.content, as: UTF8.self)
        guard let start = text.firstRange(of: "\"mark\":") else { return nil }
        return Int(text[start.upperBound...].prefix { $0.isNumber })
    }

    func countParts(_ tally: inout Tally) {
        for sent in parts.actions {
            switch sent.ends.withLock({ $0.first }) {
            case .success?: tally.partsApplied += 1
            case .failure(is CyclerParentOutcomeUnknown)?: tally.partsUnknown += 1
            case .failure?: tally.partsRefused += 1
            case nil: break
            }
        }
    }
}
