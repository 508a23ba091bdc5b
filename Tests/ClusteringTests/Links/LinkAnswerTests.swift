import Cluster
import Glibc
import Feeds
import Sessions
import Sockets
import Storage
import Testing
import Wire

@testable import Clustering

@Suite("ADR-0065 — the answers on links have a bound", .timeLimit(.minutes(60)))
struct LinkAnswerTests {
    private static let large = 10 << 20

    @Test func `a large answer counts until the other node has read it`() async throws {
        let rig = try IncomingRig(limit: 15 << 20)
        let streams = try await rig.sendRequests(2)
        #expect(await rig.answerRead(streams[0], bytes: Self.large, isCounted: true))
        // The kernel has accepted a part of it; the other node has read nothing.
        #expect(rig.work.used == Self.large)
        let isAdmitted = await rig.answerRead(streams[1], bytes: Self.large, isCounted: true)
        #expect(!isAdmitted, "there is no room for two")
        #expect(try rig.readAnswers(1).map(\.body.count) == [Self.large])
        await rig.wait { $0.work.used == 0 }
        await rig.end()
    }

    @Test func `a node that does not read is not read, and further reads of it are refused`()
        async throws
    {
        let rig = try IncomingRig(limit: 15 << 20)
        let streams = try await rig.sendRequests(251)
        // The kernel accepts a part of the first answers. The others fill what it has left.
        for streams in [streams[..<200], streams[200..<250]] {
            await rig.value { end in
                for stream in streams {
                    _ = end.answerRead(stream, bytes: 60 << 10, isCounted: false)
                }
            }
        }
        let unsent = await rig.value { $0.unsentBytes }
        #expect((7 << 20..<9 << 20).contains(unsent), "\(unsent)")
        // The outcome of an action is always sent.
        await rig.answer(streams[250], bytes: 100)
        // The last request that is read shows that the link is full.
        _ = try await rig.sendRequests(1)
        #expect(await rig.value { $0.isPaused })
        try rig.send(1)
        let answers = try rig.readAnswers(251)
        let refusals = answers.filter { $0.status == 503 }
        #expect(answers.count { $0.body.count == 60 << 10 } + refusals.count == 250)
        #expect(refusals.count > 50)
        #expect(refusals.allSatisfy { $0.code == "too_much_memory" })
        #expect(answers.last?.body.count == 100)
        // The link is read again.
        #expect(await rig.nextRequest() != nil)
        #expect(await rig.value { !$0.isPaused })
        await rig.end()
    }

    @Test func `an answer that arrives counts, and is skipped without room for it`() async throws {
        let rig = try OutgoingRig(limit: 3 << 20)
        let streams = try await rig.open(requests: 2)
        let answer = LinkAnswer(status: 200, body: [UInt8](repeating: 1, count: 2 << 20))
        try rig.beginAnswer(streams[0], answer)
        await rig.wait { $0.work.used > 1 << 20 }
        try rig.endAnswer()
        #expect(await rig.next() == "200 2097152")
        await rig.wait { $0.work.used == 0 }
        let other = try #require(rig.work.charge(2 << 20, for: nil))
        try rig.beginAnswer(streams[1], answer)
        #expect(await rig.next() == "503 too_much_memory")
        await rig.wait { $0.work.used == 2 << 20 }
        // The rest is dropped, and the link stays open.
        try rig.endAnswer()
        _ = consume other
        let next = try await rig.request()
        try rig.beginAnswer(next, LinkAnswer(status: 200, body: [1]))
        try rig.endAnswer()
        #expect(await rig.next() == "200 1")
        await rig.end()
    }
}

/// The other node's end of a socket.
private final class Peer: Sendable {
    private let descriptor: Int32

    /// - Returns: The peer, and the end for the loop.
    static func pair() throws -> (Peer, Int32) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0)
        return (Peer(ends[0]), ends[1])
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var time = timeval(tv_sec: 60, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.send(
                    descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            try #require(count > 0)
            rest = rest.dropFirst(count)
        }
    }

    /// Waits for the next bytes.
    func receive() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe read(descriptor, bytes.baseAddress, bytes.count)
        }
        try #require(count > 0)
        return Array(bytes[..<count])
    }
}

/// A loop with links. Its delegate does what the test asks for.
private class LinkRig {
    let work: WorkBudget
    let peer: Peer
    let loop: EventLoop<LinkEnd>
    private let notes: AsyncStream<String>

    fileprivate init(limit: Int) throws {
        let work = WorkBudget(limit: limit)
        self.work = work
        let (notes, note) = AsyncStream.makeStream(of: String.self)
        self.notes = notes
        let (peer, descriptor) = try Peer.pair()
        self.peer = peer
        loop = try EventLoop<LinkEnd>(label: "links") { loop, table in
            LinkEnd(table, work, loop, descriptor) { note.yield($0) }
        }
    }

    func next() async -> String? {
        for await note in notes { return note }
        return nil
    }

    func value<Value: Sendable>(_ read: @escaping @Sendable (LinkEnd) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.enqueue { continuation.resume(returning: read($0)) }
        }
    }

    func wait(until holds: @escaping @Sendable (LinkEnd) -> Bool) async {
        while !(await value(holds)) { await Task.yield() }
    }

    func end() async { await loop.stop() }
}

/// A link that the peer has opened.
private final class IncomingRig: LinkRig {
    private var far: OutgoingLink

    override init(limit: Int) throws {
        far = OutgoingLink(
            to: LinkHandshake.Peer(node: 1, loop: 0), from: 2, secret: [],
            nonce: [UInt8](repeating: 1, count: 32), payloadLimitBytes: 1 << 30)
        var near = IncomingLink(
            at: 1, secrets: [[]], nonce: [UInt8](repeating: 2, count: 32),
            payloadLimitBytes: 1 << 30)
        while !far.isOpen {
            let question = Array(far.output.unsent)
            far.sent(question.count)
            try near.receive(question.span) { _ in }
            let reply = Array(near.output.unsent)
            near.sent(reply.count)
            try far.receive(reply.span) { _ in }
        }
        try super.init(limit: limit)
        loop.enqueue { [near] in $0.admit(near) }
    }

    func send(_ count: Int) throws {
        for _ in 0..<count {
            let stream = far.send(LinkRequest(waitMilliseconds: 0, head: [1], body: []))
            try #require(stream != nil)
        }
        let bytes = Array(far.output.unsent)
        far.sent(bytes.count)
        try peer.send(bytes)
    }

    func nextRequest() async -> UInt32? { await next().flatMap { UInt32($0) } }

    /// - Returns: The streams of the requests, which have arrived.
    func sendRequests(_ count: Int) async throws -> [UInt32] {
        try send(count)
        var streams: [UInt32] = []
        for _ in 0..<count { streams.append(try #require(await nextRequest())) }
        return streams
    }

    /// - Returns: Whether there was room for the answer.
    func answerRead(_ stream: UInt32, bytes: Int, isCounted: Bool) async -> Bool {
        await value { $0.answerRead(stream, bytes: bytes, isCounted: isCounted) }
    }

    func answer(_ stream: UInt32, bytes: Int) async {
        await value { $0.answer(stream, bytes: bytes) }
    }

    func readAnswers(_ count: Int) throws -> [LinkAnswer] {
        var answers: [LinkAnswer] = []
        while answers.count < count {
            let bytes = try peer.receive()
            try far.receive(bytes.span) { event in
                if case .answer(_, let answer) = event { answers.append(answer) }
            }
        }
        return answers
    }
}

/// A link that the loop has opened.
private final class OutgoingRig: LinkRig {
    private var far = IncomingLink(
        at: 2, secrets: [[]], nonce: [UInt8](repeating: 2, count: 32),
        payloadLimitBytes: 1 << 30)
    private var rest: [UInt8] = []

    /// Sends requests over a new link.
    ///
    /// - Returns: Their streams.
    func open(requests count: Int) async throws -> [UInt32] {
        loop.enqueue { for _ in 0..<count { $0.send() } }
        let ping = await value { $0.ping }
        var isIntroduced = false
        return try receive(count) { far in
            if far.isOpen, !isIntroduced { far.send(ping) }
            isIntroduced = far.isOpen
        }
    }

    func request() async throws -> UInt32 {
        loop.enqueue { $0.send() }
        return try #require(try receive(1) { _ in }.first)
    }

    private func receive(
        _ count: Int, _ act: (inout IncomingLink) -> Void
    ) throws -> [UInt32] {
        var streams: [UInt32] = []
        while streams.count < count {
            let bytes = try peer.receive()
            try far.receive(bytes.span) { event in
                if case .request(let stream, _) = event { streams.append(stream) }
            }
            act(&far)
            try sendAll()
        }
        return streams
    }

    private func sendAll() throws {
        let bytes = Array(far.output.unsent)
        far.sent(bytes.count)
        try peer.send(bytes)
    }

    /// Sends all but the last byte of an answer.
    func beginAnswer(_ stream: UInt32, _ answer: LinkAnswer) throws {
        far.answer(stream, answer)
        var bytes = Array(far.output.unsent)
        far.sent(bytes.count)
        rest = [bytes.removeLast()]
        try peer.send(bytes)
    }

    func endAnswer() throws { try peer.send(rest) }
}

private final class LinkEnd: LinkLoop {
    let work: WorkBudget
    let links: LinkTable
    private let table: ConnectionTable
    private let loop: EventLoop<LinkEnd>
    private let descriptor: Int32
    private let far = Member(node: Node(number: 2), address: "node.example:7", loops: 1)
    private let note: (String) -> Void

    init(
        _ table: ConnectionTable, _ work: WorkBudget,
        _ loop: EventLoop<LinkEnd>, _ descriptor: Int32, _ note: @escaping (String) -> Void
    ) {
        (self.table, self.work, self.loop, self.descriptor) = (table, work, loop, descriptor)
        self.note = note
        links = LinkTable(to: far, work, table) { _, _, then in
            guard let socket = try? DetachedSocket(owning: descriptor) else { return }
            loop.adopt(socket) { then($0.links.outgoing, .success($1)) }
        }
        links.delegate = self
    }

    // MARK: What the test does

    func admit(_ machine: IncomingLink) {
        guard let socket = try? DetachedSocket(owning: descriptor) else { return }
        loop.adopt(socket) { end, id in
            end.links.incoming.admit(machine, from: LinkHandshake.Peer(node: 2, loop: 0), as: id)
        }
    }

    private var incoming: IncomingConnection? { links.incoming.links.values.first }

    var unsentBytes: Int { incoming?.machine.output.unsent.count ?? 0 }
    var isPaused: Bool { incoming?.isPaused ?? false }
    var ping: LinkPing { links.way.ping }

    func answerRead(_ stream: UInt32, bytes: Int, isCounted: Bool) -> Bool {
        guard let incoming else { return false }
        var charge: WorkCharge?
        if isCounted {
            charge = work.charge(bytes, for: nil)
            guard charge != nil else { return false }
        }
        links.incoming.answerRead(
            ForwardOrigin(incoming.socket, stream), Self.answer(bytes), charge)
        return true
    }

    func answer(_ stream: UInt32, bytes: Int) {
        guard let incoming else { return }
        links.incoming.answer(ForwardOrigin(incoming.socket, stream), Self.answer(bytes))
    }

    private static func answer(_ bytes: Int) -> LinkAnswer {
        LinkAnswer(status: 200, body: [UInt8](repeating: 1, count: bytes))
    }

    func send() {
        guard let session = SessionID("s") else { return }
        let forward = ForwardedRequest(
            of: ConnectionID(slot: 1, generation: 1), for: session,
            Forwarding(at: 0, isRepeatable: false, onlyReads: true))
        #expect(links.outgoing.send(forward, to: far))
    }

    // MARK: LinkLoop

    func request(of forward: ForwardedRequest) -> LinkRequest? {
        LinkRequest(waitMilliseconds: 0, head: [1], body: [])
    }

    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer) {
        note("\(answer.status) \(answer.code.isEmpty ? "\(answer.body.count)" : answer.code)")
    }

    func forwarded(_ forward: ForwardedRequest, _ ending: Forwarding.Ending) { note("\(ending)") }

    func requestArrived(_ request: LinkRequest, from origin: ForwardOrigin) {
        note("\(origin.stream)")
    }
}
