import Cluster
import Feeds
import Sessions
import Sockets
import Storage
import Testing
import Wire

@testable import ReactorHosting

@Suite("A node loses its sessions only by what it does itself", .timeLimit(.minutes(15)))
struct LinkTableTests {
    // Without the phases of a link: deposed after a second.
    @Test func `a slow lookup of its name refuses requests, and deposes nobody`() async throws {
        let rig = try LookupRig()
        rig.send()
        #expect(await rig.next() == "sent: true, lookups: 1")
        #expect(await rig.next() == "notSent, may be deposed: false")
        rig.send()
        #expect(await rig.next() == "sent: false, lookups: 1", "nobody waits, or asks twice")
        rig.failLookup()
        rig.send()
        #expect(await rig.next() == "sent: true, lookups: 2")
        await rig.end()
    }

    @Test func `a client that goes during a pause is not asked for again`() async throws {
        let rig = try LookupRig()
        rig.pause(1, 2, abandoning: 1)
        #expect(await rig.next() == "the pause of 2 has ended")
        rig.pause(3)
        #expect(await rig.next() == "the pause of 3 has ended")
        await rig.end()
    }
}

/// The links of a loop on which names are looked up for as long as the test says.
private final class LookupRig: Sendable {
    private let loop: EventLoop<LookupEnd>
    private let notes: AsyncStream<String>

    init() throws {
        let (notes, note) = AsyncStream.makeStream(of: String.self)
        let node = try LocalNode(
            Configuration(), boundTo: .tcp(host: "127.0.0.1", port: 9), isLoopback: true, [])
        loop = try EventLoop<LookupEnd>(label: "links") {
            LookupEnd($1, node) { note.yield($0) }
        }
        self.notes = notes
    }

    func next() async -> String? {
        for await note in notes { return note }
        return nil
    }

    func send() { loop.enqueue { $0.send() } }
    func failLookup() { loop.enqueue { $0.failLookup() } }
    func pause(_ slots: UInt32..., abandoning abandoned: UInt32? = nil) {
        loop.enqueue { $0.pause(slots, abandoning: abandoned) }
    }

    func end() async { await loop.stop() }
}

private final class LookupEnd: LoopHandler, LinkTableDelegate {
    /// The lookups that have begun.
    private final class Lookups {
        typealias End = @Sendable (OutgoingLinks, Result<ConnectionID, SystemFailure>) -> Void
        var ends: [End] = []
    }

    private let links: LinkTable
    private let lookups: Lookups
    private let far = Member(node: Node(number: 2), address: "node.example:7", loops: 1)
    private let note: (String) -> Void

    init(_ table: ConnectionTable, _ node: LocalNode, _ note: @escaping (String) -> Void) {
        self.note = note
        let lookups = Lookups()
        self.lookups = lookups
        var configuration = Configuration()
        configuration.logLevel = .critical
        let members = TwoMembers(members: Members(own: node.member, others: [far]))
        let way = ClusterWay(node.member.node, members, configuration.logger)
        let bodies = BodyBudget(configuration, exempt: [])
        links = LinkTable(node, way, bodies, WorkBudget(), table, nil) { _, end in
            lookups.ends.append(end)
        }
        links.delegate = self
    }

    func send() {
        guard let forward = request(of: 1) else { return }
        let isSent = links.outgoing.send(forward, to: far)
        note("sent: \(isSent), lookups: \(lookups.ends.count)")
    }

    func pause(_ slots: [UInt32], abandoning abandoned: UInt32?) {
        for slot in slots {
            guard let forward = request(of: slot) else { return }
            #expect(links.outgoing.pause(forward))
            if slot == abandoned { links.outgoing.abandon(forward) }
        }
    }

    private func request(of slot: UInt32) -> ForwardedRequest? {
        guard let session = SessionID("s") else { return nil }
        return ForwardedRequest(
            of: ConnectionID(slot: slot, generation: 1), for: session, PostActions.self,
            Forwarding(at: 0, isRepeatable: false))
    }

    func failLookup() {
        let failure = SystemFailure(
            operation: "getaddrinfo", code: 1, detail: "node.example", message: "unknown")
        lookups.ends.last?(links.outgoing, .failure(failure))
    }

    // MARK: LinkTableDelegate

    func forwarded(_ forward: ForwardedRequest, _ ending: Forwarding.Ending) {
        let deposed = links.way.deposable(far.node, of: forward.session)
        note("\(ending), may be deposed: \(deposed != nil)")
    }

    func request(of forward: ForwardedRequest) -> LinkRequest? { nil }
    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer) { note("answered") }
    func pauseEnded(_ forward: ForwardedRequest) {
        note("the pause of \(forward.connection.slot) has ended")
    }

    func guestArrived(_ request: LinkRequest, from origin: GuestOrigin) {}
    func guestLeft(_ origin: GuestOrigin) {}
    func guestHurried(_ origin: GuestOrigin) {}
    func ownedEnd(of session: SessionID) -> CommittedEnd? { nil }
    func hinted(_ session: SessionID, at end: CommittedEnd) {}
    func received(_ records: CommittedRecords, of session: SessionID, from owner: Node) {}
    func hintsEnded(of sessions: [SessionID]) {}

    // MARK: LoopHandler

    func timerReached(_ token: UInt64) { links.timerReached() }
    func roundEnded() { links.flush() }
    func opened(_ connection: ConnectionID, peer: PeerAddress) {}
    func received(_ connection: ConnectionID, _ bytes: RawSpan) {}
    func peerFinished(_ connection: ConnectionID) {}
    func writable(_ connection: ConnectionID) {}
    func closed(_ connection: ConnectionID, _ why: CloseReason) {}
    func deadlineReached(_ connection: ConnectionID) {}
}

/// The members of a cluster without sessions.
struct TwoMembers: Ownership {
    let members: Members

    func claim(
        _ session: String, deposing deposed: Node?, _ answer: @escaping ArchiveAnswer<Claim>
    ) {
        answer(.success(.nothing))
    }

    func release(_ sessions: [OwnedSession], _ answer: @escaping ArchiveAnswer<Void>) {
        answer(.success(()))
    }

    func confirm(
        _ expected: [Storage.Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        answer(.success([:]))
    }

    func changes(
        of followed: [Storage.Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>
    ) {
        answer(.success([:]))
    }

    var endedSessions: any HistoryArchive { NoHistories() }

    func watch(_ changed: @escaping @Sendable (OwnershipChange) -> Void) {}
}

struct NoHistories: HistoryArchive {
    func records(
        of session: SessionKey, after start: HistoryPosition, through last: UInt64, limit: Int,
        limitBytes: Int, _ answer: @escaping Answer<[HistoryEntry]>
    ) {
        answer(.success([]))
    }

    func snapshot(
        of session: SessionKey, at version: UInt64, _ answer: @escaping Answer<Snapshot?>
    ) {
        answer(.success(nil))
    }
}
