import Feeds
import Sessions
import Synchronization

/// A reader in the process of the sessions. It takes and reads blocks when the test demands it.
final class ProgramStream {
    /// Gets the reports.
    private final class Inbox: Sendable {
        private let reading: Mutex<RelayReading>

        init(_ reading: RelayReading) { self.reading = Mutex(reading) }

        func open() -> RelayRequest {
            reading.withLock { $0.open { [self] in accept($0) } }
        }

        private func accept(_ report: RelayReport) {
            reading.withLock { $0.receive(report) }
        }

        func next() -> RelayReading.Step? { reading.withLock { $0.next() } }
        func wasRead() { reading.withLock { _ = $0.wasRead() } }
        func takeCredit() -> RelayRequest? { reading.withLock { $0.takeCredit() } }
        var close: RelayRequest { reading.withLock { $0.close } }
    }

    let session: SessionID
    private let limit: Int
    /// The stream as a client would have read it, with one connection for each process.
    private(set) var reader: Reader
    private var inbox: Inbox?
    private var token: UInt64 = 0
    private var bytes: [UInt8] = []
    private(set) var lastID: String?
    private var unread = 0
    private var isWaiting = false
    private(set) var isOver = false
    /// The number of times that it had to begin again with a snapshot.
    private(set) var resets = 0

    /// - Parameter limit: The maximum number of unread blocks.
    init(_ session: SessionID, _ selection: Selection, limit: Int) {
        self.session = session
        self.limit = limit
        reader = Reader(selection)
    }

    /// Begins, or continues in another process after the last block.
    func connect(_ rig: Rig) {
        guard !isOver else { return }
        token = rig.nextToken()
        (bytes, unread, isWaiting) = ([], 0, false)
        reader.add(connection: token, after: lastID)
        let selection = reader.selection
        let inbox = Inbox(
            RelayReading(
                token, of: session, from: lastID.map { .after($0) } ?? .snapshot, limit: limit,
                countedBy: rig.work
            ) { _, found in
                switch found {
                case .session(let session): .events(session, selection, knownPulses: [])
                case .copy(let copy): .events(copy, selection, knownPulses: [])
                case .ended: .end(.deleted)
                case .nothing, .notInMemory: .end(.unknown)
                case .quarantined, .unreadable, .noRoom, .overBudget, .elsewhere, .noNode:
                    .problem(RelayProblem(code: "unavailable", body: Array("{}".utf8)))
                }
            })
        self.inbox = inbox
        rig.joints.send([inbox.open()])
    }

    /// Takes at most `count` blocks.
    ///
    /// - Parameter retries: Whether to try again if the session could not be read.
    func receive(_ count: Int, _ rig: Rig, retries: Bool = false) {
        guard !isOver, let inbox else { return }
        if isWaiting, retries {
            isWaiting = false
            rig.joints.send([inbox.open()])
        }
        var left = count
        while left > 0, !isWaiting, let step = inbox.next() {
            switch step {
            case .block(let block):
                left -= 1
                unread += 1
                record(block, rig)
            case .over:
                isOver = true
                return rig.joints.send([inbox.close])
            case .lost:
                rig.joints.send([inbox.close])
                lastID = nil
                return connect(rig)
            case .reopen(let pause):
                if pause == .zero { rig.joints.send([inbox.open()]) } else { isWaiting = true }
            }
        }
        if let credit = inbox.takeCredit() { rig.joints.send([credit]) }
    }

    /// Reads at most `count` of the blocks that it has taken.
    func read(_ count: Int) {
        for _ in 0..<min(count, unread) {
            unread -= 1
            inbox?.wasRead()
        }
    }

    private func record(_ block: RelayBlock, _ rig: Rig) {
        if block.event == "snapshot", lastID != nil {
            // The reading does not pass the reset on.
            resets += 1
            bytes += "event: reset\ndata: {\"reason\":\"generation\"}\n\n".utf8
        }
        if let id = block.id { lastID = id }
        for (name, value) in [
            ("event", block.event), ("id", block.id),
            ("data", block.data.map { String(decoding: $0, as: UTF8.self) }),
        ] {
            if let value { bytes += "\(name): \(value)\n".utf8 }
        }
        bytes.append(0x0a)
        rig.output.record(bytes, of: token)
    }
}
