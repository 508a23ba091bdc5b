import FuzzSupport
import Wire
import WireFeeds

@main enum LinksTarget: FuzzTarget {}

/// The bytes of a link: no split changes the frames; a frame is written as it was read; a
/// message that is read is written with the same bytes, and no other can be read; a handshake never
/// ends with a peer that does not have the secret.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLinks(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = unsafe FuzzInput(start, count)
    let whole = readFrames(input.bytes, payloadLimit: 100_000)
    require(whole.offsetsWereSound, "the reader has left its input")
    for cuts in input.cuts() {
        require(
            readFrames(input.bytes, cutAt: cuts, payloadLimit: 100_000) == whole,
            "other frames when they are cut at \(cuts)")
    }
    var written: [UInt8] = []
    for frame in whole.frames {
        frame.append(to: &written)
        require(rewritten(frame) ?? frame == frame, "another message was written than was read")
    }
    require(input.bytes.starts(with: written), "other frames were written than were read")
    shakeHands(whole.frames)
    return 0
}

/// The frame of the message that the frame has; nil if it has none.
private func rewritten(_ frame: LinkFrame) -> LinkFrame? {
    var bytes: [UInt8] = []
    switch frame.kind {
    case .request:
        guard let request = try? LinkRequest(frame) else { return nil }
        _ = try? request.readHead(limits: RequestLimits())
        request.append(stream: frame.stream, to: &bytes)
    case .answer:
        guard let answer = try? LinkAnswer(frame) else { return nil }
        answer.append(stream: frame.stream, to: &bytes)
    case .moved:
        guard let moved = try? LinkMoved(frame) else { return nil }
        moved.append(stream: frame.stream, to: &bytes)
    case .ping:
        guard let ping = try? LinkPing(frame) else { return nil }
        ping.append(to: &bytes)
        // A ping is about the whole link.
        return readFrames(bytes).frames.first.map {
            LinkFrame($0.kind, stream: frame.stream, payload: $0.payload)
        }
    case .follow:
        guard let follow = try? LinkFollow(frame) else { return nil }
        follow.append(stream: frame.stream, to: &bytes)
    case .hint:
        guard let hint = try? LinkHint(frame) else { return nil }
        hint.append(stream: frame.stream, to: &bytes)
    case .records:
        guard let records = try? LinkRecords(frame) else { return nil }
        records.append(stream: frame.stream, to: &bytes)
    case .presence:
        guard let presence = try? LinkPresence(frame) else { return nil }
        presence.append(stream: frame.stream, to: &bytes)
    case .hello, .challenge, .proof, .gone, .last, .hurry, .unfollow: return nil
    }
    return readFrames(bytes, payloadLimit: 100_000).frames.first
}

private func shakeHands(_ frames: [LinkFrame]) {
    let secret = [UInt8](repeating: 3, count: 32)
    let nonce = [UInt8](repeating: 4, count: LinkHandshake.nonceBytes)
    var hello: [UInt8] = []
    let sides = [
        LinkHandshake(listeningAs: 1, secrets: [secret], nonce: nonce),
        LinkHandshake(
            dialling: LinkHandshake.Peer(node: 2, loop: 0), from: 1, secret: secret, nonce: nonce,
            to: &hello),
    ]
    for var side in sides {
        for frame in frames {
            var out: [UInt8] = []
            guard let peer = try? side.receive(frame, to: &out) else { continue }
            // Only a known proof could do it; no seed has one.
            require(false, "a peer without the secret was accepted: \(peer)")
        }
    }
}
