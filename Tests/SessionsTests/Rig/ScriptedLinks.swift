import Cluster
import Clustering
import Feeds
import Sessions

/// The links of the nodes of a test. Each letter waits until the test delivers it, loses it, or
/// delivers it twice.
///
/// Unlike those of a server, they pass on the hints of a node that is not asked any more, and hints
/// arrive in any order. The other letters about a session arrive in the order of their sending, and
/// if one is lost, the stream of the session has ended at both nodes.
final class ScriptedLinks {
    private enum Letter {
        case follow(SessionID, UInt32)
        case unfollow(SessionID, UInt32)
        case hint(SessionID, CommittedEnd)
        case records(SessionID, CommittedRecords)
        case end(SessionID, UInt32)
        case presence(SessionID, UInt32, PresentReaders)
        case part(PartLetter)

        /// Whether a link that is made again may carry it once more.
        var mayComeTwice: Bool {
            switch self {
            case .part: false
            case .follow, .unfollow, .hint, .records, .end, .presence: true
            }
        }

        /// The session and the stream of a letter that keeps its place among the others of the
        /// session.
        var ordered: (session: SessionID, stream: UInt32)? {
            switch self {
            case .follow(let session, let stream), .unfollow(let session, let stream),
                .end(let session, let stream), .presence(let session, let stream, _):
                (session, stream)
            case .hint, .records, .part: nil
            }
        }
    }

    private struct Post {
        let letter: Letter
        let from: Node
        let to: Node
    }

    /// The end of one node.
    private final class End: SessionHints {
        unowned let links: ScriptedLinks
        let node: Node
        unowned let table: SessionTable
        /// The owner that was asked last, and the stream, by session.
        var asked: [SessionID: (owner: Node, stream: UInt32)] = [:]
        /// The streams of the nodes that follow a session.
        var followers: [SessionID: [Node: UInt32]] = [:]

        init(_ links: ScriptedLinks, _ node: Node, _ table: SessionTable) {
            (self.links, self.node, self.table) = (links, node, table)
        }

        func follow(_ session: SessionID, at owner: Node) {
            unfollow(session)
            links.streams += 1
            asked[session] = (owner, links.streams)
            send(.follow(session, links.streams), to: owner)
            table.sendPresence(of: session)
        }

        func unfollow(_ session: SessionID) {
            guard let (owner, stream) = asked.removeValue(forKey: session) else { return }
            table.receivePresence(nil, of: session, from: .owner)
            send(.unfollow(session, stream), to: owner)
        }

        func wantsRecords(of session: SessionID) -> Bool {
            links.sendsRecords && !(followers[session]?.isEmpty ?? true)
        }

        func committed(_ session: Session, _ records: CommittedRecords?) {
            for follower in followers[session.id, default: [:]].keys.ordered {
                let letter =
                    records.map { Letter.records(session.id, $0) }
                    ?? .hint(session.id, session.committedEnd)
                send(letter, to: follower)
            }
        }

        func left(_ session: SessionID) {
            for (follower, stream) in ordered(followers.removeValue(forKey: session)) {
                table.receivePresence(nil, of: session, from: part(stream))
                send(.end(session, stream), to: follower)
            }
        }

        func presenceChanged(_ feed: Feed) {
            for (follower, stream) in ordered(followers[feed.id]) {
                feed.sendPresence(to: part(stream)) {
                    send(.presence(feed.id, stream, $0), to: follower)
                    return true
                }
            }
            guard let (owner, stream) = asked[feed.id] else { return }
            feed.sendPresence(to: .owner) {
                send(.presence(feed.id, stream, $0), to: owner)
                return true
            }
        }

        private func part(_ stream: UInt32) -> PresencePart {
            PresencePart(link: 1, stream: stream)
        }

        private func ordered(_ followers: [Node: UInt32]?) -> [(Node, UInt32)] {
            (followers ?? [:]).sorted { $0.key.number < $1.key.number }.map { ($0.key, $0.value) }
        }

        /// The stream to the owner of a session has ended.
        ///
        /// - Parameter stream: nil: any.
        func endAsking(_ session: SessionID, _ stream: UInt32? = nil) {
            guard let asked = asked[session], stream == nil || asked.stream == stream else {
                return
            }
            self.asked[session] = nil
            table.receivePresence(nil, of: session, from: .owner)
        }

        func removeFollower(_ node: Node, of session: SessionID, _ stream: UInt32? = nil) {
            guard let known = followers[session]?[node], stream == nil || known == stream else {
                return
            }
            followers[session]?[node] = nil
            table.receivePresence(nil, of: session, from: part(known))
        }

        /// A hint of a session whose stream has ended does not mean that more will come.
        private func endStray(_ session: SessionID) {
            if asked[session] == nil { table.hintsEnded(of: [session]) }
        }

        private func send(_ letter: Letter, to node: Node) {
            if case .presence = letter { links.presencesSent += 1 }
            links.posts.append(Post(letter: letter, from: self.node, to: node))
        }

        func receive(_ letter: Letter, from node: Node) {
            switch letter {
            case .follow(let session, let stream):
                guard let end = table.ownedEnd(of: session) else {
                    return send(.end(session, stream), to: node)
                }
                if followers[session]?[node] != stream { removeFollower(node, of: session) }
                followers[session, default: [:]][node] = stream
                send(.hint(session, end), to: node)
                table.sendPresence(of: session)
            case .unfollow(let session, let stream): removeFollower(node, of: session, stream)
            case .presence(let session, let stream, let present):
                if asked[session]?.stream == stream {
                    table.receivePresence(present, of: session, from: .owner)
                } else if followers[session]?[node] == stream {
                    table.receivePresence(present, of: session, from: part(stream))
                }
            case .hint(let session, let end):
                table.hint(session, at: end)
                endStray(session)
            case .records(let session, let records):
                table.receive(session, records, from: node)
                endStray(session)
            case .end(let session, let stream):
                endAsking(session, stream)
                table.hintsEnded(of: [session])
            case .part(let letter): links.parts?(letter, node, self.node)
            }
        }
    }

    /// Whether owners send their records, and not hints alone.
    let sendsRecords: Bool
    private var ends: [Node: End] = [:]
    private var posts: [Post] = []
    /// The hints that were delivered, with records or without.
    private(set) var hinted = 0
    /// The sets of readers that were sent.
    private(set) var presencesSent = 0
    private var streams: UInt32 = 0
    /// Receives letters about actions of parts.
    var parts: ((_ letter: PartLetter, _ from: Node, _ to: Node) -> Void)?
    /// Whether an action of a part is sent again although it may have been applied: a fault.
    var sendsPartsTwice = false
    /// Called when such a letter is lost.
    var lostPart: ((_ letter: PartLetter, _ from: Node, _ to: Node) -> Void)?
    /// Called when the links of a node have ended.
    var broke: ((_ node: Node) -> Void)?

    var count: Int { posts.count }

    init(sendsRecords: Bool = false) { self.sendsRecords = sendsRecords }

    func add(_ node: Node, _ table: SessionTable) {
        let end = End(self, node, table)
        ends[node] = end
        table.cluster?.hints = end
    }

    /// The process has ended. The others notice it when its links end.
    func remove(_ node: Node) {
        guard let end = ends.removeValue(forKey: node) else { return }
        end.table.cluster?.hints = nil
        breakLinks(to: node)
    }

    func breakLinks(to node: Node) {
        posts.removeAll { $0.from == node || $0.to == node }
        for other in Set(ends.keys).ordered {
            guard let end = ends[other] else { continue }
            let sessions = end.asked.filter { $0.value.owner == node || other == node }.keys
                .sorted { $0.text < $1.text }
            for session in sessions { end.endAsking(session) }
            end.table.hintsEnded(of: sessions)
            for session in end.followers.keys.sorted(by: { $0.text < $1.text }) {
                for follower in (end.followers[session] ?? [:]).keys.ordered
                where follower == node || other == node {
                    end.removeFollower(follower, of: session)
                }
            }
        }
        broke?(node)
    }

    /// Delivers a letter, or an earlier one that has to arrive before it.
    ///
    /// - Parameter isKept: Whether it comes once more later.
    /// - Returns: The node that has received it; nil if there is none.
    @discardableResult
    func deliver(_ index: Int, isKept: Bool = false) -> Node? {
        let index = turn(index)
        let comesAgain = isKept && posts[index].letter.mayComeTwice
        let post = comesAgain ? posts[index] : posts.remove(at: index)
        guard let end = ends[post.to] else { return nil }
        switch post.letter {
        case .hint, .records: hinted += 1
        case .follow, .unfollow, .end, .part, .presence: break
        }
        end.receive(post.letter, from: post.from)
        return post.to
    }

    func send(_ letter: PartLetter, from: Node, to: Node) {
        posts.append(Post(letter: .part(letter), from: from, to: to))
    }

    func recipient(_ index: Int) -> Node { posts[index].to }

    func lose(_ index: Int) {
        let post = posts.remove(at: index)
        if case .part(let letter) = post.letter { lostPart?(letter, post.from, post.to) }
        guard let (session, stream) = post.letter.ordered else { return }
        posts.removeAll { $0.letter.ordered?.stream == stream }
        for (node, other) in [(post.from, post.to), (post.to, post.from)] {
            guard let end = ends[node] else { continue }
            end.removeFollower(other, of: session, stream)
            guard end.asked[session]?.stream == stream else { continue }
            end.endAsking(session)
            end.table.hintsEnded(of: [session])
        }
    }

    /// The index of the letter whose turn it is.
    private func turn(_ index: Int) -> Int {
        let post = posts[index]
        guard let session = post.letter.ordered?.session else { return index }
        return posts.firstIndex {
            $0.from == post.from && $0.to == post.to && $0.letter.ordered?.session == session
        } ?? index
    }

    func loseAll() { posts = [] }
}

extension Sequence<Node> {
    /// The same order in each run.
    fileprivate var ordered: [Node] { sorted { $0.number < $1.number } }
}
