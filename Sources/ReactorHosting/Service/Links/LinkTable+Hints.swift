internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Storage
internal import Wire

/// Hints of sessions, from the owners of those that are followed here and to the nodes that follow
/// those of this node.
struct HintCounts: Sendable {
    var sent: UInt64 = 0
    var received: UInt64 = 0

    mutating func add(_ other: HintCounts) {
        sent += other.sent
        received += other.received
    }

    func write(to text: inout PrometheusWriter) {
        text.counters(
            "hints", "Hints that a followed session has new records, by direction.", "direction",
            [("sent", sent), ("received", received)])
    }
}

extension LinkTable: SessionHints {
    func follow(_ session: SessionID, at owner: Node) { outgoing.follow(session, at: owner) }
    func unfollow(_ session: SessionID) { outgoing.unfollow(session) }
    func wantsRecords(of session: SessionID) -> Bool { incoming.followers[session] != nil }
    func committed(_ session: Session, _ records: CommittedRecords?) {
        incoming.sendHints(of: session, records)
    }
    func left(_ session: SessionID) { incoming.endHints(of: session) }
}

extension ServerLoop {
    func ownedEnd(of session: SessionID) -> CommittedEnd? {
        guard session.owner(of: resources.peers.count) == resources.index else { return nil }
        return sessions.ownedEnd(of: session)
    }

    func hinted(_ session: SessionID, at end: CommittedEnd) { sessions.hint(session, at: end) }

    func received(_ records: CommittedRecords, of session: SessionID, from owner: Node) {
        sessions.receive(session, records, from: owner)
    }

    func hintsEnded(of ids: [SessionID]) { sessions.hintsEnded(of: ids) }
}

extension LinkHint {
    init(_ end: CommittedEnd) {
        self.init(
            generation: end.generation, number: end.position.number, part: end.position.part)
    }
}

extension CommittedEnd {
    init(_ hint: LinkHint) {
        self.init(hint.generation, HistoryPosition(hint.number, part: hint.part))
    }
}

extension LinkRecords {
    init(_ records: CommittedRecords) {
        self.init(
            afterNumber: records.after.number, afterPart: records.after.part,
            end: LinkHint(records.committedEnd), version: records.version, text: records.text)
    }
}

extension CommittedRecords {
    init(_ records: LinkRecords) {
        self.init(
            records.end.generation,
            after: HistoryPosition(records.afterNumber, part: records.afterPart),
            end: HistoryPosition(records.end.number, part: records.end.part),
            version: records.version, text: records.text)
    }
}
