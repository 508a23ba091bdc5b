/// How two nodes begin a link: each proves to the other that it has the cluster's secret, and names
/// itself.
///
/// ```
/// the node that dials                         the node that listens
///   hello: version, both nodes, loop, nonce ─▶
///                                          ◀─ challenge: version, node, nonce
///   proof                                  ─▶
///                                          ◀─ proof
/// ```
///
/// A proof is the code (``MessageCode``) of the side's name, the hello and the challenge. It has
/// both nonces, so that no proof is valid twice. It has the side's name, so that no proof can be
/// sent back to its sender. The listening node proves itself second, so a stranger that connects
/// gets nothing to try secrets on.
///
/// A handshake authenticates the two ends, but not the bytes after it: the network between nodes
/// has to be private or tunnelled.
package struct LinkHandshake: Sendable {
    /// 2: a ping has the sender's database.
    package static let version: UInt16 = 2
    package static let nonceBytes = 32
    /// No frame of a handshake has a larger payload.
    package static let payloadLimitBytes = 256

    package struct Peer: Equatable, Sendable {
        package var node: Int64
        /// The loop of the listening node for which the link is.
        package var loop: UInt32

        package init(node: Int64, loop: UInt32) {
            self.node = node
            self.loop = loop
        }
    }

    private enum State: Sendable {
        /// The listening node waits for a hello.
        case listening
        case dialling(hello: [UInt8])
        /// The challenge was sent or has arrived; the proof of the peer is due.
        case proving(Peer, transcript: [UInt8])
        case complete
    }

    private enum Side: String {
        case dialling, listening
    }

    private static let magic = Array("reactor-link".utf8)

    private let node: Int64
    /// Invariant: not empty. The dialling side has one. The listening side proves itself with the
    /// one that the peer used.
    private let secrets: [[UInt8]]
    private let nonce: [UInt8]
    /// Nil on the side that listens.
    private let sought: Peer?
    private var state = State.listening

    /// The side that dials.
    ///
    /// - Parameters:
    ///   - node: This node.
    ///   - sought: The node that is sought, and the loop there.
    ///   - nonce: ``nonceBytes`` random bytes, for this handshake only.
    ///   - out: Gets the hello.
    package init(
        dialling sought: Peer, from node: Int64, secret: [UInt8], nonce: [UInt8],
        to out: inout [UInt8]
    ) {
        self.init(node, [secret], nonce, sought)
        var hello = LinkPayloadWriter(Self.magic)
        hello.append(Self.version)
        hello.append(node)
        hello.append(sought.node)
        hello.append(sought.loop)
        hello.append(rest: nonce)
        LinkFrame(.hello, payload: hello.bytes).append(to: &out)
        state = .dialling(hello: hello.bytes)
    }

    /// The side that listens.
    ///
    /// - Parameters:
    ///   - node: This node.
    ///   - secrets: Those of which the peer must have one, at least one: while the secret of a
    ///     cluster is being changed, the old one and the new one.
    ///   - nonce: As above.
    package init(listeningAs node: Int64, secrets: [[UInt8]], nonce: [UInt8]) {
        self.init(node, secrets, nonce, nil)
    }

    private init(_ node: Int64, _ secrets: [[UInt8]], _ nonce: [UInt8], _ sought: Peer?) {
        precondition(!secrets.isEmpty, "a link needs a secret, which may be empty")
        precondition(nonce.count == Self.nonceBytes, "a nonce has \(Self.nonceBytes) bytes")
        self.node = node
        self.secrets = secrets
        self.nonce = nonce
        self.sought = sought
    }

    /// Whether the peer has been sent a proof and has not sent its own: if it closes the connection
    /// now, it has another secret.
    package var awaitsProof: Bool {
        if case .proving = state { sought != nil } else { false }
    }

    /// Receives the next frame of the peer.
    ///
    /// - Parameter out: Gets the next frame to send, if there is one. It is sent also if the
    ///   handshake is complete with it.
    /// - Returns: The peer, once it has proved itself; nil before.
    package mutating func receive(
        _ frame: LinkFrame, to out: inout [UInt8]
    ) throws(LinkFault) -> Peer? {
        switch state {
        case .listening: try receiveHello(frame, to: &out)
        case .dialling(let hello): try receiveChallenge(frame, hello, to: &out)
        case .proving(let peer, let transcript):
            let secret = try receiveProof(frame, transcript)
            if let sought {
                // Only now: before its proof, an impostor could say that a node has ended.
                guard peer == sought else { throw .otherNode(peer.node) }
            } else {
                appendProof(.listening, transcript, secret, to: &out)
            }
            state = .complete
            return peer
        case .complete: throw .unexpected(frame.kind)
        }
        return nil
    }

    private mutating func receiveHello(
        _ frame: LinkFrame, to out: inout [UInt8]
    ) throws(LinkFault) {
        guard frame.kind == .hello, frame.payload.starts(with: Self.magic) else { throw .notALink }
        var hello = try LinkPayload(frame, is: .hello)
        _ = try hello.bytes(count: Self.magic.count)
        try Self.check(version: try hello.number())
        let dialler: Int64 = try hello.number()
        _ = try hello.number(Int64.self)
        let loop: UInt32 = try hello.number()
        _ = try hello.bytes(count: Self.nonceBytes)
        try hello.finish()
        var challenge = LinkPayloadWriter([])
        challenge.append(Self.version)
        challenge.append(node)
        challenge.append(rest: nonce)
        LinkFrame(.challenge, payload: challenge.bytes).append(to: &out)
        state = .proving(
            Peer(node: dialler, loop: loop), transcript: frame.payload + challenge.bytes)
    }

    private mutating func receiveChallenge(
        _ frame: LinkFrame, _ hello: [UInt8], to out: inout [UInt8]
    ) throws(LinkFault) {
        var challenge = try LinkPayload(frame, is: .challenge)
        try Self.check(version: try challenge.number())
        let listener: Int64 = try challenge.number()
        _ = try challenge.bytes(count: Self.nonceBytes)
        try challenge.finish()
        let transcript = hello + frame.payload
        appendProof(.dialling, transcript, secrets[0], to: &out)
        state = .proving(Peer(node: listener, loop: sought?.loop ?? 0), transcript: transcript)
    }

    private func receiveProof(
        _ frame: LinkFrame, _ transcript: [UInt8]
    ) throws(LinkFault) -> [UInt8] {
        var proof = try LinkPayload(frame, is: .proof)
        let code = try proof.bytes(count: SHA256.byteCount)
        try proof.finish()
        let side: Side = sought == nil ? .dialling : .listening
        let secret = secrets.first { secret in
            MessageCode.areEqual(Array(code), self.code(side, transcript, secret))
        }
        guard let secret else { throw .otherSecret }
        return secret
    }

    private func appendProof(
        _ side: Side, _ transcript: [UInt8], _ secret: [UInt8], to out: inout [UInt8]
    ) {
        LinkFrame(.proof, payload: code(side, transcript, secret)).append(to: &out)
    }

    private func code(_ side: Side, _ transcript: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        MessageCode.make(Array(side.rawValue.utf8) + transcript, secret: secret)
    }

    private static func check(version: UInt16) throws(LinkFault) {
        guard version == Self.version else { throw .unknownVersion(version) }
    }
}
