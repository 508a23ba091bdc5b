/// The side of a link that has dialled: it proves itself, sends requests, and receives answers.
///
/// Design: a machine without socket and clock. Bytes go in by ``receive(_:_:)`` and out by
/// ``output``. After a fault the connection is to be closed; the requests in ``underWay`` then have
/// no answer, and may have been served.
package struct OutgoingLink: Sendable {
    package enum Event: Equatable, Sendable {
        /// The other node has proved itself: requests may be sent.
        case opened
        case answer(stream: UInt32, LinkAnswer)
        /// The request had no effect.
        case moved(stream: UInt32, LinkMoved)
        case ping(LinkPing)
        /// The session that is followed on that stream has this newest position. The first one
        /// comes at once.
        case hint(stream: UInt32, LinkHint)
        /// The same, with the records up to it.
        case records(stream: UInt32, LinkRecords)
        /// The readers of that session at the other nodes.
        case presence(stream: UInt32, LinkPresence)
        /// There are no hints on that stream: the other node does not own the session, or no more.
        case unfollowed(stream: UInt32)
        /// The other node ends. The requests without an answer had no effect, and nothing follows.
        case last
    }

    /// The maximum number of requests without an answer. The other node serves no more than that.
    package static let streamLimit = 20_000
    /// Sessions that are followed.
    package static let followLimit = 20_000

    private var reader = LinkReader(payloadLimitBytes: LinkHandshake.payloadLimitBytes)
    /// Nil once the other node has proved itself.
    private var handshake: LinkHandshake?
    private let payloadLimitBytes: Int
    package private(set) var output = LinkOutput()
    /// The streams of requests without an answer.
    package private(set) var underWay: Set<UInt32> = []
    /// Invariant: the stream before has been used by one request. After 2³² requests the numbers
    /// begin again, and those under way are left out.
    private var lastStream: UInt32 = 0
    /// The features of the other node; nil before its first ping.
    package private(set) var features: LinkFeatures?
    package private(set) var followed: Set<UInt32> = []
    private var lastFollowed: UInt32 = 0

    /// - Parameters:
    ///   - sought: The node that is dialled, and its loop.
    ///   - node: This node.
    ///   - nonce: ``LinkHandshake/nonceBytes`` random bytes.
    ///   - payloadLimitBytes: The size of the largest answer.
    package init(
        to sought: LinkHandshake.Peer, from node: Int64, secret: [UInt8], nonce: [UInt8],
        payloadLimitBytes: Int
    ) {
        self.payloadLimitBytes = payloadLimitBytes
        var hello: [UInt8] = []
        handshake = LinkHandshake(
            dialling: sought, from: node, secret: secret, nonce: nonce, to: &hello)
        output.append { $0 += hello }
    }

    package var isOpen: Bool { handshake == nil }

    /// Whether a connection that the other node closes now means that it has another secret.
    package var awaitsProof: Bool { handshake?.awaitsProof ?? false }

    /// The answer that has partly arrived: its stream, and the bytes of its memory.
    package var partialAnswer: (stream: UInt32, bytes: Int)? {
        isOpen ? reader.partial(of: .answer) : nil
    }

    /// Releases the answer that has partly arrived, and skips the rest. The answer is lost.
    package mutating func skipPartialAnswer() {
        guard let stream = reader.skipPayload(of: .answer) else { return }
        underWay.remove(stream)
    }

    /// Whether ``send(_:)`` would send.
    package var hasRoom: Bool { isOpen && !output.isFull && underWay.count < Self.streamLimit }

    /// - Returns: The stream of the request; nil if nothing was sent: the link is not open, too
    ///   many requests are under way, or the other node does not read.
    package mutating func send(_ request: LinkRequest) -> UInt32? {
        guard hasRoom else { return nil }
        repeat { lastStream &+= 1 } while lastStream == 0 || underWay.contains(lastStream)
        let stream = lastStream
        underWay.insert(stream)
        output.append { request.append(stream: stream, to: &$0) }
        return stream
    }

    /// The client has gone. The answer, if it comes nevertheless, is dropped.
    package mutating func abandon(_ stream: UInt32) {
        guard underWay.remove(stream) != nil else { return }
        output.append { LinkFrame(.gone, stream: stream).append(to: &$0) }
    }

    /// Asks for the answer at once, without waiting for effects.
    package mutating func hurry(_ stream: UInt32) {
        guard underWay.contains(stream) else { return }
        output.append { LinkFrame(.hurry, stream: stream).append(to: &$0) }
    }

    /// Asks for hints of a session. Returns the stream of the hints; nil if nothing was sent: the
    /// other node has not said that it sends hints, too many sessions are followed, or the other
    /// node does not read.
    package mutating func follow(_ session: String) -> UInt32? {
        guard isOpen, features?.contains(.hints) ?? false, !output.isFull,
            followed.count < Self.followLimit
        else { return nil }
        repeat { lastFollowed &+= 1 } while lastFollowed == 0 || followed.contains(lastFollowed)
        let stream = lastFollowed
        followed.insert(stream)
        output.append { LinkFollow(session: session).append(stream: stream, to: &$0) }
        return stream
    }

    /// Nobody follows the session any more. Hints that come nevertheless are dropped.
    package mutating func unfollow(_ stream: UInt32) {
        guard followed.remove(stream) != nil else { return }
        output.append { LinkFrame(.unfollow, stream: stream).append(to: &$0) }
    }

    /// Sends the readers of a followed session at this node.
    ///
    /// Sends nothing to a node that does not accept it.
    ///
    /// - Returns: false if the other node is not reading now.
    package mutating func send(_ presence: LinkPresence, on stream: UInt32) -> Bool {
        guard isOpen, features?.contains(.presence) ?? false, followed.contains(stream) else {
            return true
        }
        guard !output.isFull else { return false }
        output.append { presence.append(stream: stream, to: &$0) }
        return true
    }

    package mutating func send(_ ping: LinkPing) {
        guard isOpen, !output.isFull else { return }
        output.append { ping.append(to: &$0) }
    }

    package mutating func sent(_ count: Int) { output.removeFirst(count) }

    package mutating func receive(
        _ input: Span<UInt8>, _ happened: (Event) -> Void
    ) throws(LinkFault) {
        var offset = 0
        while let frame = try reader.next(input, at: &offset) {
            if let event = try receive(frame) { happened(event) }
        }
    }

    private mutating func receive(_ frame: LinkFrame) throws(LinkFault) -> Event? {
        guard handshake == nil else { return try shakeHands(frame) }
        switch frame.kind {
        case .answer:
            let answer = try LinkAnswer(frame)
            return underWay.remove(frame.stream).map { Event.answer(stream: $0, answer) }
        case .moved:
            let moved = try LinkMoved(frame)
            return underWay.remove(frame.stream).map { Event.moved(stream: $0, moved) }
        case .ping:
            let ping = try LinkPing(frame)
            features = ping.features
            return .ping(ping)
        case .hint:
            let hint = try LinkHint(frame)
            return followed.contains(frame.stream) ? .hint(stream: frame.stream, hint) : nil
        case .records:
            let records = try LinkRecords(frame)
            return followed.contains(frame.stream)
                ? .records(stream: frame.stream, records) : nil
        case .presence:
            let presence = try LinkPresence(frame)
            return followed.contains(frame.stream)
                ? .presence(stream: frame.stream, presence) : nil
        case .unfollow:
            guard frame.payload.isEmpty else { throw .malformed(.unfollow) }
            return followed.remove(frame.stream).map { Event.unfollowed(stream: $0) }
        case .last:
            guard frame.payload.isEmpty else { throw .malformed(.last) }
            return .last
        case .hello, .challenge, .proof, .request, .gone, .hurry, .follow:
            throw .unexpected(frame.kind)
        }
    }

    private mutating func shakeHands(_ frame: LinkFrame) throws(LinkFault) -> Event? {
        guard var present = handshake else { return nil }
        var out: [UInt8] = []
        let peer = try present.receive(frame, to: &out)
        output.append { $0 += out }
        handshake = peer == nil ? present : nil
        guard peer != nil else { return nil }
        reader.payloadLimitBytes = payloadLimitBytes
        return .opened
    }
}
