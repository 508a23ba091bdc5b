internal import Cluster
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// A session that another node follows: the stream on which it gets hints, and its link.
struct Follower: Hashable {
    var link: ConnectionID
    var stream: UInt32
}

// The sessions of this loop of which other nodes want hints.
//
// Design: one hint for each session, link and round, the newest, with the records up to it if the
// other node accepts them (ADR-0052). While the other node does not read, hints wait at the link: a
// newer one replaces an older one, and records follow those that wait, within bounds. When this
// node owns the session no longer, the other node is sent that, and asks the journal until it knows
// the next owner.
extension IncomingLinks {
    func follow(_ follow: LinkFollow, _ stream: UInt32, on link: IncomingConnection) {
        guard let session = SessionID(own: follow.session),
            let end = delegate?.ownedEnd(of: session)
        else {
            link.machine.unfollow(stream)
            return markUnsent(link.socket)
        }
        link.followed[stream] = session
        followers[session, default: []].insert(Follower(link: link.socket, stream: stream))
        send(end, stream, on: link)
        delegate?.presenceIsWanted(of: session)
    }

    func unfollow(_ stream: UInt32, on link: IncomingConnection) {
        guard let session = link.followed.removeValue(forKey: stream) else { return }
        removeFollower(Follower(link: link.socket, stream: stream), of: session)
    }

    /// Something of a session of this node was committed.
    func sendHints(of session: Session, _ records: CommittedRecords?) {
        guard let present = followers[session.id] else { return }
        let end = session.committedEnd
        let whole = records.flatMap { $0.committedEnd == end ? LinkRecords($0) : nil }
        for follower in present {
            guard let link = links[follower.link] else { continue }
            guard let whole else {
                send(end, follower.stream, on: link)
                continue
            }
            link.machine.records(follower.stream, whole)
            markUnsent(link.socket)
        }
    }

    /// This node owns the session no longer.
    func endHints(of session: SessionID) {
        for follower in followers.removeValue(forKey: session) ?? [] {
            guard let link = links[follower.link] else { continue }
            link.followed[follower.stream] = nil
            delegate?.presenceArrived(nil, of: session, from: PresencePart(follower))
            link.machine.unfollow(follower.stream)
            markUnsent(link.socket)
        }
    }

    // MARK: Presence

    func received(_ presence: LinkPresence, _ stream: UInt32, on link: IncomingConnection) {
        guard let session = link.followed[stream] else { return }
        delegate?.presenceArrived(
            PresentReaders(presence), of: session,
            from: PresencePart(Follower(link: link.socket, stream: stream)))
    }

    /// Sends each follower of a session the readers at all other nodes.
    func sendPresence(of feed: Feed) {
        for follower in followers[feed.id] ?? [] {
            guard let link = links[follower.link] else { continue }
            feed.sendPresence(to: PresencePart(follower)) { present in
                markUnsent(link.socket)
                return link.machine.send(LinkPresence(present), on: follower.stream)
            }
        }
    }

    /// The link has ended.
    func removeFollowers(on link: IncomingConnection) {
        for (stream, session) in link.followed {
            removeFollower(Follower(link: link.socket, stream: stream), of: session)
        }
        link.followed = [:]
    }

    private func removeFollower(_ follower: Follower, of session: SessionID) {
        delegate?.presenceArrived(nil, of: session, from: PresencePart(follower))
        followers[session]?.remove(follower)
        if followers[session]?.isEmpty ?? false { followers[session] = nil }
    }

    private func send(_ end: CommittedEnd, _ stream: UInt32, on link: IncomingConnection) {
        link.machine.hint(stream, LinkHint(end))
        markUnsent(link.socket)
    }
}
