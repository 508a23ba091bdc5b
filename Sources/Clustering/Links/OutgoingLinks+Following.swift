internal import Cluster
internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

// The sessions of which this loop wants hints. Each is followed on the link to its owner's loop.
//
// Bounds: ``OutgoingLink/followLimit`` sessions on each link. Without room, without a link, and
// if the other node's program sends no hints, there are none: the session asks for them again
// after a second.
extension OutgoingLinks {
    /// Asks the owner of a session for hints, at once or when the other node has said that
    /// it sends them.
    func follow(_ session: SessionID, at owner: Node) {
        unfollow(session)
        guard !isClosed, let member = way.members[owner], member.loops > 0,
            let address = ListenAddress.parseTCP(member.address)
        else { return }
        let far = FarEnd(node: owner, loop: session.owner(of: member.loops))
        let link = links[far] ?? open(far, address)
        guard link.followed.wait(for: session) else { return }
        followed[session] = far
        sendFollows(on: link)
    }

    func unfollow(_ session: SessionID) {
        guard let far = followed.removeValue(forKey: session), let link = links[far],
            let stream = link.followed.remove(session)
        else { return }
        delegate?.presenceArrived(nil, of: session, from: .owner)
        link.machine.unfollow(stream)
        markUnsent(link.socket)
    }

    func sendFollows(on link: OutgoingConnection) {
        guard let features = link.machine.features, !link.followed.waiting.isEmpty else { return }
        // Else the records of the first seconds would come as hints.
        if features.contains(.records), !link.isIntroduced {
            link.isIntroduced = true
            link.machine.send(way.ping)
        }
        for session in link.followed.takeWaiting() {
            guard let stream = link.machine.follow(session.text) else {
                followed[session] = nil
                continue
            }
            link.followed.add(session, as: stream)
            delegate?.presenceIsWanted(of: session)
        }
        markUnsent(link.socket)
    }

    func hinted(_ stream: UInt32, _ hint: LinkHint, on link: OutgoingConnection) {
        guard let session = session(on: stream, of: link) else { return }
        way.counts.receivedHints += 1
        delegate?.hinted(session, at: CommittedEnd(hint))
    }

    func received(_ stream: UInt32, _ records: LinkRecords, on link: OutgoingConnection) {
        guard let session = session(on: stream, of: link) else { return }
        way.counts.receivedHints += 1
        delegate?.received(CommittedRecords(records), of: session, from: link.far.node)
    }

    /// Accepted whatever database the other node believes: a set is of no history, and the other
    /// node does not send it again.
    func received(_ stream: UInt32, _ presence: LinkPresence, on link: OutgoingConnection) {
        guard let session = link.followed[stream] else { return }
        delegate?.presenceArrived(PresentReaders(presence), of: session, from: .owner)
    }

    /// Sends the owner of a followed session the readers at this node.
    func sendPresence(of feed: Feed) {
        guard let far = followed[feed.id], let link = links[far],
            let stream = link.followed.stream(of: feed.id)
        else { return }
        feed.sendPresence(to: .owner) { present in
            markUnsent(link.socket)
            return link.machine.send(LinkPresence(present), on: stream)
        }
    }

    /// The other node sends no hints of the session.
    func unfollowed(_ stream: UInt32, on link: OutgoingConnection) {
        guard let session = link.followed.remove(stream: stream) else { return }
        followed[session] = nil
        delegate?.presenceArrived(nil, of: session, from: .owner)
        delegate?.hintsEnded(of: [session])
    }

    /// The link has ended, or the other node believes another database.
    func endFollowing(on link: OutgoingConnection) {
        let sessions = link.followed.all
        guard !sessions.isEmpty else { return }
        for session in sessions { unfollow(session) }
        delegate?.hintsEnded(of: sessions)
    }

    /// The session that is followed on a stream. Nil also while the two nodes believe different
    /// databases: what the other one sends may be of a history that has ended, and its next ping
    /// decides.
    private func session(on stream: UInt32, of link: OutgoingConnection) -> SessionID? {
        way.shares(link.database) ? link.followed[stream] : nil
    }
}
