import Cluster
import Clustering
import Feeds
import Sessions

/// The links of the nodes of a test. Each letter waits until the test delivers it, loses it, or
/// delivers it twice.
///
/// Unlike those of a server, they pass on the hints of a node that is not asked any more.
final class ScriptedLinks {
    private enum Letter {
        case follow(SessionID)
        case unfollow(SessionID)
        case hint(SessionID, CommittedEnd)
        case records(SessionID, CommittedRecords)
        case end(SessionID)
        case presence(SessionID, PresentReaders)
        case part(PartLetter)

        /// Whether a link that is made again may carry it once more.
        var mayComeTwice: Bool {
            switch self {
            case .part: false
            case .follow, .unfollow, .hint, .records, .end, .presence: true
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
        /// The owner that was asked last, by session.
        var asked: [SessionID: Node] = [:]
        var followers: [SessionID: Set<Node>] = [:]

        init(_ links: ScriptedLinks, _ node: Node, _ table: SessionTable) {
            (self.links, self.node, self.table) = (links, node, table)
        }

        func follow(_ session: SessionID, at owner: Node) {
            unfollow(session)
            asked[session] = owner
            send(.follow(session), to: owner)
            table.sendPresence(of: session)
        }

        func unfollow(_ session: SessionID) {
            guard let owner = asked.removeValue(forKey: session) else { return }
            table.receivePresence(nil, of: session, from: .owner)
            send(.unfollow(session), to: owner)
        }

        func wantsRecords(of session: SessionID) -> Bool {
            links.sendsRecords && !(followers[session]?.isEmpty ?? true)
        }

        func committed(_ session: Session, _ records: CommittedRecords?) {
            for follower in followers[session.id, default: []].ordered {
                let letter =
                    records.map { Letter.records(session.id, $0) }
                    ?? .hint(session.id, session.committedEnd)
                send(letter, to: follower)
            }
        }

        func left(_ session: SessionID) {
            for follower in (followers.removeValue(forKey: session) ?? []).ordered {
                table.receivePresence(nil, of: session, from: part(follower))
                send(.end(session), to: follower)
            }
        }

        func presenceChanged(_ feed: Feed) {
            for follower in followers[feed.id, default: []].ordered {
                feed.sendPresence(to: part(follower)) {
                    send(.presence(feed.id, $0), to: follower)
                    return true
                }
            }
            guard let owner = asked[feed.id] else { return }
            feed.sendPresence(to: .owner) {
                send(.presence(feed.id, $0), to: owner)
                return true
            }
        }

        func part(_ follower: Node) -> PresencePart {
            PresencePart(link: UInt64(follower.number), stream: 1)
        }

        private func send(_ letter: Letter, to node: Node) {
            if case .presence = letter { links.presencesSent += 1 }
            links.posts.append(Post(letter: letter, from: self.node, to: node))
        }

        func receive(_ letter: Letter, from node: Node) {
            switch letter {
            case .follow(let session):
                guard let end = table.ownedEnd(of: session) else {
                    return send(.end(session), to: node)
                }
                followers[session, default: []].insert(node)
                send(.hint(session, end), to: node)
                table.sendPresence(of: session)
            case .unfollow(let session):
                if followers[session]?.remove(node) != nil {
                    table.receivePresence(nil, of: session, from: part(node))
                }
            case .presence(let session, let present):
                if asked[session] == node {
                    table.receivePresence(present, of: session, from: .owner)
                } else if followers[session]?.contains(node) ?? false {
                    table.receivePresence(present, of: session, from: part(node))
                }
            case .hint(let session, let end): table.hint(session, at: end)
            case .records(let session, let records): table.receive(session, records, from: node)
            case .end(let session):
                if asked[session] == node {
                    table.receivePresence(nil, of: session, from: .owner)
                }
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
            let sessions = end.asked.filter { $0.value == node }.keys.sorted { $0.text < $1.text }
            for session in sessions {
                end.asked[session] = nil
                end.table.receivePresence(nil, of: session, from: .owner)
            }
            end.table.hintsEnded(of: sessions)
            for session in end.followers.keys where end.followers[session]?.remove(node) != nil {
                end.table.receivePresence(nil, of: session, from: end.part(node))
            }
        }
        ends[node]?.followers = [:]
        broke?(node)
    }

    /// Delivers a letter.
    ///
    /// - Parameter isKept: Whether it comes once more later.
    /// - Returns: The node that has received it; nil if there is none.
    @discardableResult
    func deliver(_ index: Int, isKept: Bool = false) -> Node? {
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
    }

    func loseAll() { posts = [] }
}

extension Set<Node> {
    /// The same order in each run.
    fileprivate var ordered: [Node] { sorted { $0.number < $1.number } }
}
