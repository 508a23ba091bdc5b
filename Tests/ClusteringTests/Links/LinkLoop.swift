import Cluster
import Feeds
import Logging
import Sessions
import Sockets
import Storage
import Wire

@testable import Clustering

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
    func presenceArrived(
        _ present: PresentReaders?, of session: SessionID, from part: PresencePart
    ) {}
    func presenceIsWanted(of session: SessionID) {}

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

extension LinkTable {
    /// The links of a node in a cluster with one other node.
    convenience init(
        to far: Member, _ work: WorkBudget, _ table: ConnectionTable, _ logger: Logger? = nil,
        dial: @escaping OutgoingLinks.Dial
    ) {
        let own = Member(node: Node(number: 1), address: "127.0.0.1:9", loops: 1)
        let members = TwoMembers(members: Members(own: own, others: [far]))
        let way = ClusterWay(
            own.node, members, logger ?? Logger(label: "links") { _ in SwiftLogNoOpLogHandler() })
        let budget = LinkBudget(
            requests: ByteBudget(limit: 1 << 30, clientLimit: 1 << 30),
            requestRefusal: LinkAnswer(status: 503, code: "too_many_bodies"), answers: work,
            answerRefusal: LinkAnswer(status: 503, code: "too_much_memory"))
        self.init(way, budget, table, secret: [], dial: dial)
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
