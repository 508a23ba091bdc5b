/// The side of a link that was dialled: it proves itself, and serves requests.
///
/// Design: a machine without socket and clock, as ``OutgoingLink``.
package struct IncomingLink: Sendable {
    package enum Event: Equatable, Sendable {
        /// The other node has proved itself. The link is for that loop, and may move there now: the
        /// other side sends nothing before it has the proof that is in ``output``.
        case opened(LinkHandshake.Peer)
        /// Each request is answered once, with an answer or with moved.
        case request(stream: UInt32, LinkRequest)
        /// Nobody waits for the answer. A request that has begun takes effect.
        case gone(stream: UInt32)
        /// The answer is due without waiting for effects.
        case hurry(stream: UInt32)
        /// Hints of the session are wanted, the first one at once; or none are sent, with
        /// ``IncomingLink/unfollow(_:)``.
        case follow(stream: UInt32, LinkFollow)
        /// No hints are wanted any more.
        case unfollow(stream: UInt32)
        /// The readers of the followed session at the other node.
        case presence(stream: UInt32, LinkPresence)
        case ping(LinkPing)
    }

    private var reader = LinkReader(payloadLimitBytes: LinkHandshake.payloadLimitBytes)
    /// Nil once the other node has proved itself.
    private var handshake: LinkHandshake?
    private let payloadLimitBytes: Int
    package private(set) var output = LinkOutput()
    /// The streams of requests without an answer.
    package private(set) var underWay: Set<UInt32> = []
    package private(set) var followed: Set<UInt32> = []
    /// News of sessions that are not in ``output``. Invariant: all are of ``followed``.
    private var news = LinkNews()
    /// The features of the other node; none before its first ping.
    private var features: LinkFeatures = []
    private var isFinishing = false
    /// Whether the last frame is in ``output``.
    package private(set) var hasFinished = false

    /// - Parameters:
    ///   - node: This node.
    ///   - secrets: Those of which the other node must have one, at least one.
    ///   - nonce: ``LinkHandshake/nonceBytes`` random bytes.
    ///   - payloadLimitBytes: The size of the largest request.
    package init(at node: Int64, secrets: [[UInt8]], nonce: [UInt8], payloadLimitBytes: Int) {
        self.payloadLimitBytes = payloadLimitBytes
        handshake = LinkHandshake(listeningAs: node, secrets: secrets, nonce: nonce)
    }

    package var isOpen: Bool { handshake == nil }

    /// Whether the other node reads so slowly that no further request of it is to be read.
    package var isBlocked: Bool { output.isFull }

    /// The bytes of memory that a partly received request takes.
    package var partialBytes: Int { isOpen ? reader.partialBytes(of: .request) : 0 }

    /// Releases the partly received request, and skips its rest. The request has no effect.
    ///
    /// - Returns: Its stream, which needs an answer; nil if the link is finishing.
    package mutating func skipPartial() -> UInt32? {
        guard let stream = reader.skipPayload(of: .request), !isFinishing, stream != 0,
            underWay.count < OutgoingLink.streamLimit, underWay.insert(stream).inserted
        else { return nil }
        return stream
    }

    /// - Parameter charge: Held until the answer is sent.
    package mutating func answer(
        _ stream: UInt32, _ answer: LinkAnswer, holding charge: (any AnyObject & Sendable)? = nil
    ) {
        guard underWay.remove(stream) != nil else { return }
        output.append(holding: charge) { answer.append(stream: stream, to: &$0) }
        finishIfIdle()
    }

    package mutating func answer(_ stream: UInt32, _ moved: LinkMoved) {
        guard underWay.remove(stream) != nil else { return }
        output.append { moved.append(stream: stream, to: &$0) }
        finishIfIdle()
    }

    /// A session that is followed has this newest position. A hint that waits is replaced.
    package mutating func hint(_ stream: UInt32, _ hint: LinkHint) {
        guard followed.contains(stream), !hasFinished else { return }
        news.add(hint, stream)
    }

    /// Records of a session that is followed were committed. They follow those that wait, or
    /// become a hint: if something is missing between them, beyond the bounds, and for a node that
    /// accepts no records.
    package mutating func records(_ stream: UInt32, _ records: LinkRecords) {
        guard features.contains(.records), records.text.count <= LinkRecords.textLimitBytes else {
            return hint(stream, records.end)
        }
        guard followed.contains(stream), !hasFinished else { return }
        news.add(records, stream)
    }

    /// Sends the readers of a followed session at the other nodes.
    ///
    /// Sends nothing to a node that does not accept it.
    ///
    /// - Returns: false if the other node is not reading now.
    package mutating func send(_ presence: LinkPresence, on stream: UInt32) -> Bool {
        guard features.contains(.presence), followed.contains(stream), !hasFinished else {
            return true
        }
        guard !output.isFull else { return false }
        output.append { presence.append(stream: stream, to: &$0) }
        return true
    }

    /// Whether hints or records wait for ``writeHints()``.
    package var hasHints: Bool { news.count > 0 && !hasFinished }

    /// Writes the hints and records that wait, unless the other node does not read. Returns the
    /// number of their sessions.
    @discardableResult
    package mutating func writeHints() -> Int {
        guard hasHints, !output.isFull else { return 0 }
        let count = news.count
        output.append { news.write(to: &$0) }
        return count
    }

    /// Sends no more hints: this node does not own the session.
    package mutating func unfollow(_ stream: UInt32) {
        guard followed.remove(stream) != nil else { return }
        news.remove(stream)
        guard !hasFinished else { return }
        output.append { LinkFrame(.unfollow, stream: stream).append(to: &$0) }
    }

    /// Ignores the requests that arrive from now on. When those under way are answered, the other
    /// node hears that the ignored ones had no effect, and nothing follows.
    package mutating func finish() {
        isFinishing = true
        finishIfIdle()
    }

    private mutating func finishIfIdle() {
        guard isFinishing, isOpen, underWay.isEmpty, !hasFinished else { return }
        hasFinished = true
        output.append { LinkFrame(.last).append(to: &$0) }
    }

    package mutating func send(_ ping: LinkPing) {
        guard isOpen, !hasFinished, !output.isFull else { return }
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
        case .request: return try receiveRequest(frame)
        case .gone:
            guard frame.payload.isEmpty else { throw .malformed(.gone) }
            // The answer may be on its way.
            let gone = underWay.remove(frame.stream)
            finishIfIdle()
            return gone.map { Event.gone(stream: $0) }
        case .hurry:
            guard frame.payload.isEmpty else { throw .malformed(.hurry) }
            return underWay.contains(frame.stream) ? .hurry(stream: frame.stream) : nil
        case .follow: return try receiveFollow(frame)
        case .unfollow:
            guard frame.payload.isEmpty else { throw .malformed(.unfollow) }
            news.remove(frame.stream)
            return followed.remove(frame.stream).map { Event.unfollow(stream: $0) }
        case .presence:
            let presence = try LinkPresence(frame)
            return followed.contains(frame.stream)
                ? .presence(stream: frame.stream, presence) : nil
        case .ping:
            let ping = try LinkPing(frame)
            features = ping.features
            return .ping(ping)
        case .hello, .challenge, .proof, .answer, .moved, .last, .hint, .records:
            throw .unexpected(frame.kind)
        }
    }

    private mutating func receiveRequest(_ frame: LinkFrame) throws(LinkFault) -> Event? {
        guard !isFinishing else { return nil }
        let stream = frame.stream
        let request = try LinkRequest(frame)
        guard stream != 0, underWay.insert(stream).inserted else { throw .repeatedStream(stream) }
        guard underWay.count <= OutgoingLink.streamLimit else {
            throw .tooManyStreams(limit: OutgoingLink.streamLimit)
        }
        return .request(stream: stream, request)
    }

    private mutating func receiveFollow(_ frame: LinkFrame) throws(LinkFault) -> Event? {
        let follow = try LinkFollow(frame)
        guard frame.stream != 0, followed.insert(frame.stream).inserted else {
            throw .repeatedStream(frame.stream)
        }
        guard followed.count <= OutgoingLink.followLimit, !isFinishing else {
            unfollow(frame.stream)
            return nil
        }
        return .follow(stream: frame.stream, follow)
    }

    private mutating func shakeHands(_ frame: LinkFrame) throws(LinkFault) -> Event? {
        guard var present = handshake else { return nil }
        var out: [UInt8] = []
        let peer = try present.receive(frame, to: &out)
        output.append { $0 += out }
        handshake = peer == nil ? present : nil
        guard let peer else { return nil }
        reader.payloadLimitBytes = payloadLimitBytes
        return .opened(peer)
    }
}
