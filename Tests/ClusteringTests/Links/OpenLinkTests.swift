import Cluster
import Feeds
import Sessions
import Sockets
import Storage
import Testing
import Wire

@testable import Clustering

@Suite("An open link — followed sessions and large answers", .timeLimit(.minutes(60)))
struct OpenLinkTests {
    private static let own = DatabaseMark(era: 1)
    private static let other = DatabaseMark(era: 1, timeline: 2)
    private static let hint = LinkHint(generation: "gggggggg", number: 5, part: 0)

    // Else the other node sends to streams that nobody reads, and the link runs out of them.
    @Test func `when the other node changes its database, it is asked for no hints`() async throws {
        let (before, ended, between, after) = try await OpenLink.run { rig in
            rig.ping(Self.own)
            rig.follow("a")
            rig.follow("b")
            let before = rig.far.followed.count
            rig.ping(Self.other)
            let between = rig.far.followed.count
            rig.ping(Self.own)
            rig.follow("a")
            return (before, rig.ended, between, rig.far.followed.count)
        }
        #expect([before, between, after] == [2, 0, 1])
        #expect(ended.sorted() == ["a", "b"])
    }

    @Test func `hints of another database are dropped until the nodes agree`() async throws {
        let (before, after) = try await OpenLink.run { rig in
            rig.ping(Self.own)
            rig.ping(Self.other)
            rig.follow("a")
            rig.sendHints(Self.hint)
            let before = rig.hinted
            rig.ping(Self.own)
            rig.sendHints(Self.hint)
            return (before, rig.hinted)
        }
        #expect(before == [], "of a history that may have ended")
        #expect(after == ["a"])
    }

    // Else the set would be lost: the other node sends it only once.
    @Test func `readers that arrive while the nodes do not agree are known`() async throws {
        let present = try await OpenLink.run { rig in
            rig.ping(Self.own)
            rig.ping(Self.other)
            rig.follow("a")
            rig.sendReaders(LinkPresence(names: ["ada"], count: 1, others: 2))
            rig.ping(Self.own)
            return rig.present
        }
        #expect(present == [PresentReaders([ExactText("ada")], others: 2)])
    }

    // Else a state of half the budget is refused here and served at its owner.
    @Test func `an answer that has arrived does not count twice`() async throws {
        let (inPart, atAnswer) = try await OpenLink.run { rig in
            rig.ping(Self.own)
            rig.send()
            rig.sendAnswer(bytes: 400_000, pausingAt: 390_000)
            return (rig.usedInPart, rig.usedAtAnswer)
        }
        #expect(inPart >= 380_000)
        #expect(atAnswer == 0)
    }

    @Test func `a slow reader keeps its link, and one that does not read loses it`() {
        let link = IncomingConnection(
            ConnectionID(slot: 1, generation: 1),
            IncomingLink(
                at: 2, secrets: [[]], nonce: LinkHandshake.newNonce(), payloadLimitBytes: 1),
            from: LinkHandshake.Peer(node: 1, loop: 0), at: Self.second(0))
        link.received(at: Self.second(10))
        link.sent(1, at: Self.second(39))
        #expect(!isSilent(link, at: 39))
        #expect(isSilent(link, at: 40), "it sends nothing although it is read")
        link.isPaused = true
        link.sent(0, at: Self.second(39))
        #expect(isSilent(link, at: 40))
        link.sent(1, at: Self.second(39))
        #expect(!isSilent(link, at: 68))
        #expect(isSilent(link, at: 69))
    }

    private func isSilent(_ link: IncomingConnection, at second: Int64) -> Bool {
        link.isSilent(for: .seconds(30), at: Self.second(second))
    }

    private static func second(_ number: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: number * 1_000_000_000)
    }
}

/// Connects the links of a loop to a machine, without a network.
private final class OpenLink: LinkLoop {
    private final class Dialled {
        var end: (@Sendable (OutgoingLinks, Result<ConnectionID, SystemFailure>) -> Void)?
    }

    let links: LinkTable
    private let dialled = Dialled()
    private let work = WorkBudget(limit: 1_000_000)
    private let peer = Member(node: Node(number: 2), address: "127.0.0.1:7", loops: 1)
    private let socket = ConnectionID(slot: 9, generation: 9)
    private(set) var far = IncomingLink(
        at: 2, secrets: [[]], nonce: LinkHandshake.newNonce(), payloadLimitBytes: 1 << 20)
    /// The bytes of the near end that the far end has.
    private var readBytes = 0
    private var requests: [UInt32] = []
    private(set) var hinted: [String] = []
    private(set) var ended: [String] = []
    private(set) var present: [PresentReaders?] = []
    private(set) var usedInPart = 0
    private(set) var usedAtAnswer: Int?

    /// - Returns: What `act` returns. Expectations inside of it would belong to no test.
    static func run<Outcome: Sendable>(
        _ act: @escaping @Sendable (OpenLink) -> Outcome
    ) async throws -> Outcome {
        let loop = try EventLoop<OpenLink>(label: "links") { OpenLink($1) }
        let outcome = await withCheckedContinuation { continuation in
            loop.enqueue { continuation.resume(returning: act($0)) }
        }
        await loop.stop()
        return outcome
    }

    private init(_ table: ConnectionTable) {
        links = LinkTable(to: peer, work, table) { [dialled] _, _, end in dialled.end = end }
        links.delegate = self
    }

    // MARK: The near end

    func follow(_ session: String) {
        guard let session = SessionID(session) else { return }
        links.outgoing.follow(session, at: peer.node)
        deliver()
    }

    func send() {
        guard let session = SessionID("s") else { return }
        let forward = ForwardedRequest(
            of: ConnectionID(slot: 1, generation: 1), for: session,
            Forwarding(at: 0, isRepeatable: false))
        if links.outgoing.send(forward, to: peer) { deliver() }
    }

    // MARK: The far end

    func ping(_ database: DatabaseMark) {
        if dialled.end == nil {
            _ = links.outgoing.open(
                OutgoingLinks.FarEnd(node: peer.node, loop: 0),
                ("127.0.0.1", 7))
            dialled.end?(links.outgoing, .success(socket))
            deliver()
        }
        far.send(
            LinkPing(
                journal: database.journal, era: database.era, timeline: database.timeline,
                branch: database.branch, features: [.hints, .records, .presence]))
        deliver()
    }

    func sendHints(_ hint: LinkHint) {
        for stream in far.followed { far.hint(stream, hint) }
        far.writeHints()
        deliver()
    }

    func sendReaders(_ readers: LinkPresence) {
        for stream in far.followed { _ = far.send(readers, on: stream) }
        deliver()
    }

    /// Sends an answer in two parts.
    func sendAnswer(bytes: Int, pausingAt part: Int) {
        guard let request = requests.first else { return }
        far.answer(request, LinkAnswer(status: 200, body: [UInt8](repeating: 1, count: bytes)))
        let all = Array(far.output.unsent)
        far.sent(all.count)
        links.outgoing.received(socket, Array(all[..<part]))
        usedInPart = work.used
        links.outgoing.received(socket, Array(all[part...]))
    }

    /// Carries bytes until neither end has any.
    private func deliver() {
        while true {
            let out = links.outgoing.links.values.first?.machine.output.unsent ?? []
            let request = Array(out.dropFirst(readBytes))
            readBytes += request.count
            try? far.receive(request.span) { event in
                if case .request(let stream, _) = event { requests.append(stream) }
            }
            let answer = Array(far.output.unsent)
            far.sent(answer.count)
            guard !request.isEmpty || !answer.isEmpty else { return }
            if !answer.isEmpty { links.outgoing.received(socket, answer) }
        }
    }

    // MARK: LinkLoop

    func request(of forward: ForwardedRequest) -> LinkRequest? {
        LinkRequest(waitMilliseconds: 0, head: [], body: [])
    }

    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer) { usedAtAnswer = work.used }
    func hinted(_ session: SessionID, at end: CommittedEnd) { hinted.append(session.text) }
    func presenceArrived(
        _ present: PresentReaders?, of session: SessionID, from part: PresencePart
    ) {
        self.present.append(present)
    }
    func hintsEnded(of sessions: [SessionID]) { ended += sessions.map(\.text) }
}
