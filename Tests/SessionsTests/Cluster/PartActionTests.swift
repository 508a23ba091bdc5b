import Cluster
import Clustering
import Cyclers
import JSONCoding
import Reactors
import Storage
import Synchronization
import Testing

@testable import Feeds
@testable import Sessions

@Suite("An action of a part is applied once, or it is said", .timeLimit(.minutes(60)))
struct PartActionTests {
    /// The ends of an action, as the part gets them.
    private final class Ends: Sendable {
        private let texts = Mutex<[String]>([])

        func add(_ result: Result<Void, any Error>) {
            let text =
                switch result {
                case .success: "applied"
                case .failure(is CyclerParentMissing): "missing"
                case .failure(let error as CyclerParentUnavailable): "unavailable: \(error.reason)"
                case .failure(is CyclerParentOutcomeUnknown): "unknown"
                case .failure(let error): "\(error)"
                }
            texts.withLock { $0.append(text) }
        }

        var all: [String] { texts.withLock { $0 } }
    }

    /// Gives an action to nobody, and keeps it.
    private final class Shelf: PartLinks {
        var parts: [PartAction] = []
        func send(_ action: PartAction) { parts.append(action) }
    }

    private func rigs(isImmediate: Bool = true) throws -> ClusterRig {
        ClusterRig(2, [try Pot.registration(), try .ledger()], isImmediate: isImmediate)
    }

    /// Sends an action as a part at a node does.
    @discardableResult
    private func send(
        _ action: Pot.Action = .put(mark: 7), to id: String = "p", at rig: Rig
    ) throws -> Ends {
        let ends = Ends()
        part(action, to: try #require(SessionID(id)), in: rig.table, ends).send()
        return ends
    }

    private func part(
        _ action: Pot.Action, to id: SessionID, in table: SessionTable, _ ends: Ends
    ) -> PartAction {
        CyclerMachine<Pot>.partAction(
            action, to: id, by: nil, in: table, PartWaiter { ends.add($0) })
    }

    private func received(
        _ body: String, to id: String = "p", _ reactors: [String] = [], at index: Int,
        _ rigs: ClusterRig
    ) throws -> [String] {
        let parent = try #require(SessionID(id))
        var words: [String] = []
        let table = rigs[index].table
        table.fetch(parent) {
            table.receivePart($0, by: "ada", reactors, .json(Array(body.utf8))) {
                words.append(word($0))
            }
        }
        rigs.settle()
        return words
    }

    private func word(_ outcome: PartOutcome) -> String {
        switch outcome {
        case .applied: "applied"
        case .failed(is CyclerParentMissing): "missing"
        case .failed(let error): "failed: \(error)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .moved(let member): "moved \(member?.node.number ?? 0)"
        case .unknown: "unknown"
        }
    }

    @Test func `the parent of a part of a part is that part`() {
        #expect(SessionID("a--b--c")?.parent == SessionID("a--b"))
        #expect(SessionID("a--b")?.parent == SessionID("a"))
        #expect(SessionID("a")?.parent == nil)
        #expect(SessionID("--a")?.parent == nil)
    }

    @Test func `it ends when the parent has committed it`() throws {
        let rigs = try rigs(isImmediate: false)
        try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        let ends = try send(at: rigs[0])
        #expect(ends.all == [])
        rigs.settle()
        #expect(ends.all == ["applied"])
        #expect(try rigs[0].session("p").version == 1)
    }

    @Test func `another node's is received as JSON, and refused as the parent refuses it`() throws {
        let rigs = try rigs()
        try rigs[0].create("p", try Pot.registration())
        try rigs[0].create("l", try .ledger())
        rigs.settle()
        let put = #"{"type":"put","mark":3}"#
        #expect(try received(put, at: 0, rigs) == ["applied"])
        #expect(try received(put, ["x", "pot"], at: 0, rigs) == ["applied"])
        #expect(try received(put, ["x"], at: 0, rigs) == ["missing"])
        #expect(try received(put, to: "l", at: 0, rigs) == ["missing"])
        #expect(try received(put, to: "q", at: 0, rigs) == ["missing"])
        #expect(try received(#"{"type":"refuse"}"#, at: 0, rigs) == ["failed: Refusal()"])
        for body in ["", "{", "[]", #"{"type":"none"}"#, "\u{0}"] {
            let words = try received(body, at: 0, rigs)
            #expect(words.count == 1 && words[0].hasPrefix("failed: "), "\(body): \(words)")
        }
        #expect(try received(put, at: 1, rigs) == ["moved 1"])
        #expect(try rigs[0].session("p").version == 2)
    }

    @Test func `a session that has ended is no parent`() throws {
        let rigs = try rigs(isImmediate: false)
        let session = try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        _ = rigs[0].end(session)
        let ending = try send(at: rigs[0])
        rigs.settle()
        #expect(ending.all == ["missing"])
        let ended = try send(at: rigs[0])
        rigs.settle()
        #expect(ended.all == ["missing"])
    }

    @Test(arguments: [
        (JournalFailure.Reason.unavailable, "unavailable: x"), (.full, "unavailable: x"),
        (.outcomeUnknown, "unknown"),
    ])
    func `a commit that fails is its end`(reason: JournalFailure.Reason, expected: String) throws {
        let rigs = try rigs(isImmediate: false)
        try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        let ends = try send(at: rigs[0])
        rigs.run()
        let node = rigs.nodes[0]
        try #require(node.nextKind == .commit)
        node.carryOut(0, failing: JournalFailure(reason: reason, detail: "x"))
        rigs.settle()
        #expect(ends.all == [expected])
    }

    @Test func `a refusal ends it after the commit of what it was refused for`() throws {
        let rigs = try rigs(isImmediate: false)
        try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        let accepted = try send(at: rigs[0])
        let refused = try send(.refuse, at: rigs[0])
        rigs.run()
        #expect(refused.all == [])
        rigs.nodes[0].carryOut(0, failing: JournalFailure(reason: .unavailable, detail: "x"))
        rigs.settle()
        #expect(accepted.all.first?.hasPrefix("unavailable: ") ?? false)
        #expect(refused.all.first?.hasPrefix("unavailable: ") ?? false, "\(refused.all)")
        let alone = try send(.refuse, at: rigs[0])
        rigs.settle()
        #expect(alone.all == ["Refusal()"])
    }

    // The journal has refused it, so that the next owner may receive it.
    @Test func `one whose commit shows another owner is looked for again, once the step is undone`()
        throws
    {
        let rigs = try rigs(isImmediate: false)
        try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        let shelf = Shelf()
        rigs[0].table.cluster?.parts = shelf
        let ends = try send(at: rigs[0])
        let part = try #require(shelf.parts.first)
        rigs.cluster.setOwner(rigs.nodes[1].node, of: "p")
        var moved = 0
        part.deliver { if case .moved = $0 { moved += 1 } }
        rigs.settle()
        #expect(moved == 1 && ends.all == [])
        var found: SessionLookup?
        rigs[0].table.fetch(part.parent) { found = $0 }
        rigs.settle()
        guard case .elsewhere(let member, _)? = found else {
            Issue.record("\(String(describing: found))")
            return
        }
        #expect(member.node == rigs.nodes[1].node)
        part.end(.applied)
        part.end(.unknown)
        #expect(ends.all == ["applied"])
    }

    @Test func `without links a parent at another node is unavailable`() throws {
        let rigs = try rigs()
        try rigs[1].create("p", try Pot.registration())
        rigs.settle()
        let ends = try send(at: rigs[0])
        rigs.settle()
        #expect(ends.all == ["unavailable: another node decides on its session"])
        #expect(try rigs[1].session("p").version == 0)
    }

    // Otherwise the task of the part would never end.
    @Test func `one that is released has ended`() throws {
        let rigs = try rigs()
        let shelf = Shelf()
        rigs[0].table.cluster?.parts = shelf
        let ends = try send(at: rigs[0])
        #expect(ends.all == [])
        shelf.parts = []
        #expect(ends.all == ["unknown"])
    }

    @Test func `one that waits when the server ends has ended`() throws {
        let rigs = try rigs(isImmediate: false)
        try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        let committing = try send(at: rigs[0])
        rigs.run()
        let looking = try send(to: "q", at: rigs[0])
        rigs.run()
        rigs[0].table.stop()
        #expect(committing.all == ["unknown"])
        rigs.settle()
        #expect(looking.all == ["unknown"])
        #expect(committing.all == ["unknown"])
    }

    @Test func `one whose parent is deposed before its commit is not said to be applied`() throws {
        let rigs = try rigs(isImmediate: false)
        try rigs[0].create("p", try Pot.registration())
        rigs.settle()
        let ends = try send(at: rigs[0])
        rigs[0].table.depose(try rigs[0].session("p"))
        rigs.settle()
        #expect(ends.all.count == 1)
        #expect(ends.all.first?.hasPrefix("unavailable: ") ?? false)
    }
}
