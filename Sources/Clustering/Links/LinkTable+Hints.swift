package import Cluster
package import Feeds
package import Sessions
internal import Sockets
internal import Storage
internal import Wire

extension LinkTable: SessionHints {
    package func follow(_ session: SessionID, at owner: Node) {
        outgoing.follow(session, at: owner)
    }
    package func unfollow(_ session: SessionID) { outgoing.unfollow(session) }
    package func wantsRecords(of session: SessionID) -> Bool { incoming.followers[session] != nil }
    package func committed(_ session: Session, _ records: CommittedRecords?) {
        incoming.sendHints(of: session, records)
    }
    package func left(_ session: SessionID) { incoming.endHints(of: session) }
    package func presenceChanged(_ feed: Feed) {
        incoming.sendPresence(of: feed)
        outgoing.sendPresence(of: feed)
    }
}

extension PresencePart {
    init(_ follower: Follower) { self.init(link: follower.link.token, stream: follower.stream) }
}

extension PresentReaders {
    init(_ presence: LinkPresence) {
        let others = Int(presence.others)
        if let names = presence.names {
            self.init(Set(names.map { ExactText($0) }), others: others)
        } else {
            self.init(count: Int(presence.count), others: others)
        }
    }
}

extension LinkPresence {
    init(_ present: PresentReaders) {
        self.init(
            names: present.names?.map(\.text), count: UInt32(clamping: present.count),
            others: UInt32(clamping: present.others))
    }
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

extension DatabaseStanding {
    init(_ ping: LinkPing) {
        let mark = DatabaseMark(
            journal: ping.journal, era: ping.era, timeline: ping.timeline, branch: ping.branch)
        self.init(mark, committed: ping.committed)
    }
}
