import Testing
import WireFeeds

@testable import Wire

@Suite("Links — two nodes prove that they have the same secret", .timeLimit(.minutes(60)))
struct LinkHandshakeTests {
    private let secret = [UInt8](repeating: 0x5a, count: 32)
    private let sought = LinkHandshake.Peer(node: 22, loop: 3)

    @Test func `with one secret each node knows the other, and the loop`() throws {
        var (dialler, hello) = dial()
        var listener = listen()
        let challenge = try answer(&listener, hello)
        #expect(challenge.peer == nil)
        #expect(!dialler.awaitsProof)
        let proof = try answer(&dialler, challenge.bytes)
        #expect(proof.peer == nil)
        #expect(dialler.awaitsProof)
        let end = try answer(&listener, proof.bytes)
        #expect(end.peer == LinkHandshake.Peer(node: 11, loop: 3))
        let last = try answer(&dialler, end.bytes)
        #expect(last.peer == sought)
        #expect(last.bytes.isEmpty)
    }

    @Test func `no frame of a handshake exceeds its limit`() throws {
        var (dialler, hello) = dial()
        var listener = listen()
        let challenge = try answer(&listener, hello)
        let proof = try answer(&dialler, challenge.bytes)
        let end = try answer(&listener, proof.bytes)
        for bytes in [hello, challenge.bytes, proof.bytes, end.bytes] {
            let limit = LinkHandshake.payloadLimitBytes
            #expect(readFrames(bytes, payloadLimit: limit).frames.count == 1)
        }
    }

    @Test func `a node with another secret is refused before the other proves itself`() throws {
        var (dialler, hello) = dial(secret: [1])
        var listener = listen()
        let proof = try answer(&dialler, answer(&listener, hello).bytes)
        #expect(throws: LinkFault.otherSecret) { try answer(&listener, proof.bytes) }
    }

    @Test func `any of the listening node's secrets will do, and it answers with the same one`()
        throws
    {
        for others in [[[1], secret], [secret, [1]]] {
            var (dialler, hello) = dial()
            var listener = listen(secret: [2], or: others)
            let proof = try answer(&dialler, answer(&listener, hello).bytes)
            let end = try answer(&listener, proof.bytes)
            #expect(end.peer?.node == 11)
            #expect(try answer(&dialler, end.bytes).peer == sought)
        }
        var (stranger, hello) = dial(secret: [3])
        var listener = listen(secret: [2], or: [[1], secret])
        let proof = try answer(&stranger, answer(&listener, hello).bytes)
        #expect(throws: LinkFault.otherSecret) { try answer(&listener, proof.bytes) }
    }

    @Test func `a node that cannot prove itself gets no request`() throws {
        var (dialler, hello) = dial()
        var impostor = listen(secret: [1])
        let challenge = try answer(&impostor, hello)
        _ = try answer(&dialler, challenge.bytes)
        // It sends a code of its own, and then the dialling node's code back.
        var sent: [UInt8] = []
        LinkFrame(.proof, payload: [UInt8](repeating: 0, count: 32)).append(to: &sent)
        #expect(throws: LinkFault.otherSecret) { try answer(&dialler, sent) }
        var (second, _) = dial()
        let proof = try answer(&second, challenge.bytes)
        #expect(throws: LinkFault.otherSecret) { try answer(&second, proof.bytes) }
    }

    @Test func `a proof is not valid for another handshake`() throws {
        var (dialler, hello) = dial()
        var listener = listen()
        let proof = try answer(&dialler, answer(&listener, hello).bytes)
        var later = listen(nonce: 4)
        _ = try answer(&later, hello)
        #expect(throws: LinkFault.otherSecret) { try answer(&later, proof.bytes) }
    }

    @Test func `another node at the address is named once it has proved itself`() throws {
        var (dialler, hello) = dial()
        var other = listen(node: 23)
        let proof = try answer(&dialler, answer(&other, hello).bytes)
        let end = try answer(&other, proof.bytes)
        #expect(throws: LinkFault.otherNode(23)) { try answer(&dialler, end.bytes) }
    }

    @Test func `every changed byte is refused`() throws {
        let (_, hello) = dial()
        var listener = listen()
        let challenge = try answer(&listener, hello).bytes
        // After the head of the frame.
        for index in 9..<hello.count {
            var changed = hello
            changed[index] ^= 1
            var (dialler, _) = dial()
            var other = listen()
            #expect(throws: LinkFault.self, "hello, byte \(index)") {
                let proof = try answer(&dialler, answer(&other, changed).bytes)
                return try answer(&other, proof.bytes)
            }
        }
        for index in 9..<challenge.count {
            var changed = challenge
            changed[index] ^= 1
            var (dialler, _) = dial()
            var other = listen()
            _ = try answer(&other, hello)
            #expect(throws: LinkFault.self, "challenge, byte \(index)") {
                try answer(&other, answer(&dialler, changed).bytes)
            }
        }
    }

    @Test(arguments: [LinkFrame.Kind.ping, .request, .answer, .gone, .challenge, .proof])
    func `before the handshake no other frame is read`(kind: LinkFrame.Kind) {
        var bytes: [UInt8] = []
        LinkFrame(kind).append(to: &bytes)
        var listener = listen()
        #expect(throws: LinkFault.notALink) { try answer(&listener, bytes) }
        var (dialler, _) = dial()
        if kind == .challenge {
            #expect(throws: LinkFault.malformed(.challenge)) { try answer(&dialler, bytes) }
        } else {
            #expect(throws: LinkFault.unexpected(kind)) { try answer(&dialler, bytes) }
        }
    }

    @Test func `a version that this node does not speak is refused by its number`() throws {
        // The one before has other pings.
        for version in [1, 0x0102] as [UInt16] {
            var (_, hello) = dial()
            // After the head and the name.
            hello[9 + 12] = UInt8(version >> 8)
            hello[9 + 13] = UInt8(version & 0xff)
            var listener = listen()
            #expect(throws: LinkFault.unknownVersion(version)) { try answer(&listener, hello) }
        }
    }

    // MARK: Helpers

    private func dial(secret: [UInt8]? = nil) -> (LinkHandshake, [UInt8]) {
        var hello: [UInt8] = []
        let dialler = LinkHandshake(
            dialling: sought, from: 11, secret: secret ?? self.secret,
            nonce: [UInt8](repeating: 1, count: 32), to: &hello)
        return (dialler, hello)
    }

    private func listen(
        node: Int64 = 22, secret: [UInt8]? = nil, or others: [[UInt8]] = [], nonce: UInt8 = 2
    ) -> LinkHandshake {
        LinkHandshake(
            listeningAs: node, secrets: [secret ?? self.secret] + others,
            nonce: [UInt8](repeating: nonce, count: 32))
    }

    @discardableResult
    private func answer(
        _ side: inout LinkHandshake, _ bytes: [UInt8]
    ) throws -> (peer: LinkHandshake.Peer?, bytes: [UInt8]) {
        var out: [UInt8] = []
        var peer: LinkHandshake.Peer?
        for frame in readFrames(bytes).frames { peer = try side.receive(frame, to: &out) }
        return (peer, out)
    }
}
