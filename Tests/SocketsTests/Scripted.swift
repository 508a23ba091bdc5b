import Glibc
import Synchronization
import Testing

@testable import Sockets

/// The events that a scripted handler received, in order.
enum Note: Equatable, Sendable {
    case opened(ConnectionID)
    case received(ConnectionID, [UInt8])
    case peerFinished(ConnectionID)
    case writable(ConnectionID)
    case closed(ConnectionID, CloseReason)
    case deadline(ConnectionID)
    case timer(UInt64)
    case said(String)
}

/// A handler that records every event and then acts as the test says.
final class Scripted: LoopHandler {
    /// The action on each event; by default none.
    struct Script: Sendable {
        var opened: @Sendable (Scripted, ConnectionID, PeerAddress) -> Void = { _, _, _ in }
        var received: @Sendable (Scripted, ConnectionID, [UInt8]) -> Void = { _, _, _ in }
        var peerFinished: @Sendable (Scripted, ConnectionID) -> Void = { _, _ in }
        var writable: @Sendable (Scripted, ConnectionID) -> Void = { $0.flush($1) }
        var closed: @Sendable (Scripted, ConnectionID) -> Void = { _, _ in }
        var deadline: @Sendable (Scripted, ConnectionID) -> Void = { _, _ in }
        var timer: @Sendable (Scripted, UInt64) -> Void = { _, _ in }
        var roundEnded: @Sendable (Scripted) -> Void = { _ in }
    }

    let loop: EventLoop<Scripted>
    let table: ConnectionTable
    let script: Script
    let notes: AsyncStream<Note>.Continuation
    /// Bytes that could not be sent yet.
    var unsent: [ConnectionID: ArraySlice<UInt8>] = [:]
    var shortSends = 0
    var rounds = 0
    /// A value passed from one callback to another.
    var memo: [String: ConnectionID] = [:]
    var tally: [String: Int] = [:]
    /// Invariant of `LoopHandler`: no callback is called from inside a method of the table.
    var isInTable = false

    init(
        _ loop: EventLoop<Scripted>, _ table: ConnectionTable, _ script: Script,
        _ notes: AsyncStream<Note>.Continuation
    ) {
        self.loop = loop
        self.table = table
        self.script = script
        self.notes = notes
    }

    func opened(_ c: ConnectionID, peer: PeerAddress) {
        record(.opened(c))
        script.opened(self, c, peer)
    }

    func received(_ c: ConnectionID, _ bytes: RawSpan) {
        let copy = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        record(.received(c, copy))
        script.received(self, c, copy)
    }

    func peerFinished(_ c: ConnectionID) {
        record(.peerFinished(c))
        script.peerFinished(self, c)
    }

    func writable(_ c: ConnectionID) {
        record(.writable(c))
        script.writable(self, c)
    }

    func closed(_ c: ConnectionID, _ why: CloseReason) {
        record(.closed(c, why))
        #expect(!table.isOpen(c))
        script.closed(self, c)
    }

    func deadlineReached(_ c: ConnectionID) {
        record(.deadline(c))
        script.deadline(self, c)
    }

    func timerReached(_ token: UInt64) {
        record(.timer(token))
        script.timer(self, token)
    }

    func roundEnded() {
        #expect(!isInTable)
        rounds += 1
        script.roundEnded(self)
    }

    private func record(_ note: Note) {
        #expect(!isInTable, "\(note) from inside a method of the table")
        notes.yield(note)
    }

    func say(_ text: String) { notes.yield(.said(text)) }

    /// Sends in order; keeps the bytes that do not fit.
    func send(_ c: ConnectionID, _ bytes: [UInt8]) {
        unsent[c, default: []] += bytes
        flush(c)
    }

    func flush(_ c: ConnectionID) {
        guard let bytes = unsent[c], !bytes.isEmpty else { return }
        let count = inTable { table.send(c, bytes.span) }
        unsent[c] = bytes.dropFirst(count)
        if count < bytes.count { shortSends += 1 }
    }

    func inTable<Result>(_ body: () -> Result) -> Result {
        isInTable = true
        defer { isInTable = false }
        return body()
    }
}

/// Loops with scripted handlers, optionally a listener, and the notes of all of them.
final class Host: Sendable {
    let loops: [EventLoop<Scripted>]
    let listener: Listener<Scripted>?
    private let notes: Mutex<AsyncStream<Note>.Iterator>

    init(
        _ poller: PollerKind, loops count: Int = 1, at address: ListenAddress? = .loopback,
        limit: Int = 10_000, gate: ConnectionGate = ConnectionGate(),
        readBufferBytes: Int = 65_536, _ script: Scripted.Script = .init()
    ) throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Note.self)
        let loops = try (0..<count).map { index in
            try EventLoop<Scripted>(
                label: "loop \(index)", poller: poller, readBufferBytes: readBufferBytes
            ) { Scripted($0, $1, script, continuation) }
        }
        self.loops = loops
        self.listener = try address.map {
            try Listener(
                try BoundSocket($0), loops: loops, maximumConnections: limit, gate: gate)
        }
        self.notes = Mutex(stream.makeAsyncIterator())
    }

    var loop: EventLoop<Scripted> { loops[0] }

    func connect() throws -> Client {
        try Client(to: #require(listener).boundAddress)
    }

    /// Runs a closure on a loop and returns its result.
    func on<Result: Sendable>(
        _ index: Int = 0, _ body: @escaping @Sendable (Scripted) -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            loops[index].enqueue { continuation.resume(returning: body($0)) }
        }
    }

    /// The next note, whatever it is.
    func next() async -> Note? {
        var iterator = notes.withLock { $0 }
        return await iterator.next(isolation: nil)
    }

    /// Skips notes until `pick` returns a value.
    func first<Found>(where pick: (Note) -> Found?) async throws -> Found {
        while let note = await next() {
            if let found = pick(note) { return found }
        }
        throw Ended()
    }

    struct Ended: Error {}

    /// The id of the next connection that opens.
    func opened() async throws -> ConnectionID {
        try await first {
            if case .opened(let id) = $0 { id } else { nil }
        }
    }

    func until(_ wanted: Note) async throws {
        try await first { $0 == wanted ? () : nil }
    }

    /// Waits until the kernel has the peer's reset, which the loop may not have noticed yet.
    ///
    /// Closing the peer is not enough: between another test's fork and its exec the descriptor has
    /// a copy, and the reset is sent when that is closed, too.
    func untilReset(_ id: ConnectionID) async throws {
        let copy = await on { handler in
            handler.table.live(id).map {
                fcntl(handler.table.slots[$0].descriptor, F_DUPFD_CLOEXEC, 0)
            }
        }
        guard let copy else { return }
        defer { close(copy) }
        var one = pollfd(fd: copy, events: 0, revents: 0)
        try #require(unsafe poll(&one, 1, 60_000) == 1)
    }

    /// Stops everything and waits for its end.
    func end() async {
        listener?.close()
        await listener?.untilClosed()
        for loop in loops { await loop.stop() }
    }
}

extension ListenAddress {
    static let loopback = ListenAddress.tcp(host: "127.0.0.1", port: 0)
}

/// Tests that open descriptors run one at a time: several count the process's descriptors or limit
/// them.
@Suite(.serialized, .timeLimit(.minutes(60)))
enum Loops {}
