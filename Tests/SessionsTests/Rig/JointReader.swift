import Feeds
import Sessions
import Wire

/// A client of several sessions that is disconnected and reconnects, like EventSource.
final class JointReader {
    /// One of its connections.
    final class Connection: JointStreamOutput {
        enum End: Equatable { case whole, cut, refused(String), lost }

        /// The bytes that were accepted.
        private(set) var bytes: [UInt8] = []
        private(set) var howItEnded: End?
        private(set) var hasBegun = false
        private(set) var problems: [String] = []
        let after: String?
        private let rig: Rig
        private let number: UInt64
        private let isChunked: Bool
        private let request: JointStream.Request
        private(set) lazy var stream = JointStream(
            request, number: number, loop: 0, loops: 1, output: self, work: rig.work)
        /// Further bytes that it accepts; nil: all.
        private var capacity: Int?

        init(
            _ rig: Rig, _ request: JointStream.Request, after: String?, capacity: Int?,
            isChunked: Bool
        ) {
            self.rig = rig
            self.after = after
            self.request = request
            self.capacity = capacity
            self.isChunked = isChunked
            number = rig.nextToken()
        }

        func open() {
            rig.joints.add(stream, number)
            stream.open()
        }

        /// The connection accepts `capacity` more bytes and then stalls; nil: it
        /// accepts everything.
        func setCapacity(_ capacity: Int?) {
            self.capacity = capacity
            if stream.isBlocked { stream.resume() }
        }

        func lose() {
            guard howItEnded == nil else { return }
            finish(.lost)
        }

        private func leave() {
            rig.joints.remove(number)
            stream.cancel()
        }

        func begin() {
            hasBegun = true
            stream.write()
        }

        func refuse(_ pulse: String) {
            finish(.refused(pulse))
        }

        func wrap(_ bytes: inout [UInt8]) {
            if isChunked { ChunkEncoder.wrap(from: 0, in: &bytes) }
        }

        func write(_ bytes: Span<UInt8>) -> Int {
            let accepted = min(bytes.count, capacity ?? bytes.count)
            for index in 0..<accepted { self.bytes.append(bytes[index]) }
            if let capacity { self.capacity = capacity - accepted }
            return accepted
        }

        private func finish(_ end: End) {
            howItEnded = end
            leave()
        }

        func end() { finish(.whole) }
        func cut() { finish(.cut) }
        func count(_ problem: String) { problems.append(problem) }
        func send(_ requests: [RelayRequest], to loop: Int) { rig.joints.send(requests) }

        /// The whole blocks that have arrived.
        var blocks: [JointBlock] { JointBlock.all(StreamBody(bytes).content) }
    }

    let sessions: [SessionID]
    let selection: Selection
    let pulses: [String]
    let forbidden: Set<SessionID>
    let idsAreOwn: Bool
    let client: WorkClient?
    let presence: ReaderPresence?
    private(set) var connections: [Connection] = []

    init(
        _ sessions: [String], _ selection: Selection = .everything, pulses: [String] = [],
        forbidden: [String] = [], idsAreOwn: Bool = false, client: WorkClient? = nil,
        presence: ReaderPresence? = nil
    ) {
        self.presence = presence
        self.sessions = sessions.compactMap { SessionID($0) }
        self.selection = selection
        self.pulses = pulses
        self.forbidden = Set(forbidden.compactMap { SessionID($0) })
        self.idsAreOwn = idsAreOwn
        self.client = client
    }

    var last: Connection? { connections.last }

    /// The value that it would send as `Last-Event-ID`.
    var lastID: String? {
        for connection in connections.reversed() {
            if let id = connection.blocks.last(where: { $0.id != nil })?.id { return id }
        }
        return nil
    }

    /// Connects again, if a session is not over.
    @discardableResult
    func connect(
        _ rig: Rig, from start: SubscriptionRequest.Start = .snapshot, after: String? = nil,
        capacity: Int? = nil
    ) -> Connection? {
        last?.lose()
        let after = after ?? lastID
        let vector =
            after.map { StreamVector($0, count: sessions.count) }
            ?? StreamVector(count: sessions.count)
        if vector?.isOver ?? false { return nil }
        let selection = selection
        let (named, presence) = (pulses, presence)
        let connection = Connection(
            rig,
            JointStream.Request(
                sessions: sessions, vector: vector, start: start, idsAreOwn: idsAreOwn,
                pulses: pulses, forbidden: forbidden, client: client
            ) { _, found in Self.choose(found, selection, named, presence) },
            after: after, capacity: capacity, isChunked: connections.count.isMultiple(of: 2))
        // Before the request, which may be answered at once.
        connections.append(connection)
        connection.open()
        return connection
    }

    private static func choose(
        _ found: SessionLookup, _ selection: Selection, _ named: [String],
        _ presence: ReaderPresence?
    ) -> RelayChoice {
        switch found {
        case .session(let session): events(of: session, selection, named, presence)
        case .copy(let copy): events(of: copy, selection, named, presence)
        case .ended: .end(.deleted)
        case .nothing, .notInMemory: .end(.unknown)
        case .quarantined, .unreadable, .noRoom, .overBudget, .elsewhere, .noNode:
            .problem(RelayProblem(code: "unavailable", body: Array("{}".utf8)))
        }
    }

    private static func events(
        of session: any ReadableSession, _ selection: Selection, _ named: [String],
        _ presence: ReaderPresence?
    ) -> RelayChoice {
        .events(
            session, selection,
            knownPulses: named.filter { session.registration.pulses.contains($0) },
            presence: presence)
    }
}

/// One block of a stream of several sessions.
struct JointBlock: Equatable {
    /// `<session>/<name>`; nil for a block that sets the id.
    var name: String?
    var id: String?
    var data: String?

    /// The whole blocks of a body.
    static func all(_ bytes: [UInt8]) -> [JointBlock] {
        var blocks: [JointBlock] = []
        var block = JointBlock()
        for line in String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).dropLast() {
            if line.isEmpty {
                blocks.append(block)
                block = JointBlock()
            } else if line.hasPrefix("event: ") {
                block.name = String(line.dropFirst(7))
            } else if line.hasPrefix("id: ") {
                block.id = String(line.dropFirst(4))
            } else if line.hasPrefix("data: ") {
                block.data = String(line.dropFirst(6))
            }
        }
        return blocks
    }

    var session: String? { name.map { String($0.prefix { $0 != "/" }) } }

    /// Whether it is of a session's own stream.
    var isOfSession: Bool { !(name?.hasSuffix("/problem") ?? false) }
}

// The events of each session.
extension JointReader {
    /// The streams of the single sessions, as if each had connections of its own.
    ///
    /// - Parameter blame: called with each fault in the vectors.
    func readers(_ rig: Rig, _ blame: (String) -> Void) -> [Reader] {
        var readers = sessions.map { _ in Reader(selection) }
        for connection in connections {
            var entries = connection.after.map(Self.entries) ?? sessions.map { _ in "-" }
            var bytes: [[UInt8]] = sessions.map { _ in [] }
            let afters = entries
            for block in connection.blocks where block.isOfSession {
                guard let index = index(of: block, before: &entries, blame) else { continue }
                var text = block.name.map { "event: \($0.drop { $0 != "/" }.dropFirst())\n" } ?? ""
                if block.id != nil { text += "id: \(entries[index])\n" }
                if let data = block.data { text += "data: \(data)\n" }
                bytes[index] += Array("\(text)\n".utf8)
            }
            for index in readers.indices {
                let token = rig.nextToken()
                rig.output.record(bytes[index], of: token)
                let after = afters[index]
                readers[index].add(
                    connection: token, after: after == "-" || after == "x" ? nil : after)
            }
        }
        return readers
    }

    static func entries(_ vector: String) -> [String] {
        vector.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// The session of the block. Checks that the vector is the one before with at most one entry
    /// changed, which is that of the session.
    private func index(
        of block: JointBlock, before entries: inout [String], _ blame: (String) -> Void
    ) -> Int? {
        let named = sessions.firstIndex { $0.text == block.session }
        if block.name != nil, named == nil { blame("\(block) is of no session") }
        // A reset, whose snapshot has the id.
        guard let id = block.id else { return named }
        let now = Self.entries(id)
        guard now.count == entries.count else {
            blame("\(block) after \(entries)")
            return nil
        }
        let changed = now.indices.filter { now[$0] != entries[$0] }
        if changed.count > 1 || (named != nil && changed.contains { $0 != named }) {
            blame("\(block) after \(entries)")
        }
        if changed.contains(where: { entries[$0] == "x" }) { blame("\(block) after its end") }
        entries = now
        return named ?? changed.first
    }
}
