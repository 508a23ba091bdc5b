import Cluster
import Clustering
import Feeds
import Logging
import Sessions
import Sockets
import Storage
import Wire

@testable import ReactorHosting

/// The handler of a loop that has links and nothing else. A test implements only the methods that
/// it needs.
///
/// It has no clock: with one, links would time out while a busy machine delays the test.
protocol LinkLoop: LoopHandler, LinkTableDelegate {
    var links: LinkTable { get }
}

extension LinkLoop {
    // MARK: LinkTableDelegate

    func request(of forward: ForwardedRequest) -> LinkRequest? { nil }
    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer) {}
    func forwarded(_ forward: ForwardedRequest, _ ending: Forwarding.Ending) {}
    func pauseEnded(_ forward: ForwardedRequest) {}
    func requestArrived(_ request: LinkRequest, from origin: ForwardOrigin) {}
    func requestLeft(_ origin: ForwardOrigin) {}
    func requestHurried(_ origin: ForwardOrigin) {}
    func ownedEnd(of session: SessionID) -> CommittedEnd? { nil }
    func hinted(_ session: SessionID, at end: CommittedEnd) {}
    func received(_ records: CommittedRecords, of session: SessionID, from owner: Node) {}
    func hintsEnded(of sessions: [SessionID]) {}

    // MARK: LoopHandler

    func opened(_ connection: ConnectionID, peer: PeerAddress) {}
    func received(_ connection: ConnectionID, _ bytes: RawSpan) {
        links.received(connection, bytes)
    }
    func peerFinished(_ connection: ConnectionID) { links.peerFinished(connection) }
    func writable(_ connection: ConnectionID) { links.writable(connection) }
    func closed(_ connection: ConnectionID, _ why: CloseReason) { links.closed(connection, why) }
    func deadlineReached(_ connection: ConnectionID) {}
    func timerReached(_ token: UInt64) {}
    func roundEnded() { links.flush() }
}

extension LocalNode {
    static func linked() throws -> LocalNode {
        try LocalNode(
            Configuration(), boundTo: .tcp(host: "127.0.0.1", port: 9), isLoopback: true, [])
    }
}

extension LinkTable {
    /// The links of a node in a cluster with one other node.
    convenience init(
        _ node: LocalNode, to far: Member, _ work: WorkBudget,
        _ table: ConnectionTable, _ logger: Logger? = nil, dial: @escaping OutgoingLinks.Dial
    ) {
        var configuration = Configuration()
        configuration.logLevel = .critical
        let members = TwoMembers(members: Members(own: node.member, others: [far]))
        let way = ClusterWay(node.member.node, members, logger ?? configuration.logger)
        let bodies = BodyBudget(configuration, exempt: [])
        self.init(node, way, bodies, work, table, dial: dial)
    }
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
