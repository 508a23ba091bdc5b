internal import Feeds
internal import Sockets
internal import Wire

/// The connection of a stream that follows a list. It stays on the loop that accepted it.
final class ListConnection: StreamSource {
    private unowned let connection: HTTPConnection
    let isChunked: Bool
    /// Nil once the stream has ended.
    private var list: FollowedList?
    private var firstReading: UInt64 = 0
    private(set) var hasBegun = false
    /// The page whose events were written last.
    private var sent: ListPage?
    /// Bytes that the peer has not accepted.
    private var rest: ArraySlice<UInt8> = []
    private var waitsForRoom = false
    /// The charge for the page and the unsent bytes.
    private let charge: WorkCharge

    init(_ connection: HTTPConnection, _ charge: WorkCharge, isChunked: Bool) {
        self.connection = connection
        self.charge = charge
        self.isChunked = isChunked
    }

    /// - Parameter reading: The last read that has begun; the stream begins with a later one.
    func join(_ list: FollowedList, after reading: UInt64) {
        self.list = list
        firstReading = reading + 1
    }

    /// The list has a new page.
    func show(_ reading: UInt64) {
        guard list != nil else { return }
        if !hasBegun {
            guard reading >= firstReading else { return }
            hasBegun = true
            EventStream.begin(self, on: connection)
        }
        update()
    }

    func fail(_ problem: Problem) {
        guard list != nil else { return }
        guard !hasBegun else { return connection.stream?.end(with: problem) ?? cancel() }
        cancel()
        connection.respond(.endedStream(problem))
    }

    /// Writes the events that lead to the present page.
    private func update() {
        guard !isBlocked, let list, let page = list.page, page !== sent else { return }
        var bytes = sent.map { list.events(since: $0, to: page) } ?? page.snapshot
        sent = page
        if isChunked { ChunkEncoder.wrap(from: 0, in: &bytes) }
        write(bytes[...])
    }

    private func write(_ bytes: ArraySlice<UInt8>) {
        guard !bytes.isEmpty else { return }
        rest = bytes.dropFirst(connection.writeEvents(bytes.span))
    }

    // MARK: StreamSource

    var isBlocked: Bool { waitsForRoom || !rest.isEmpty }

    var isBetweenEvents: Bool { rest.isEmpty }

    func waitForRoom() { waitsForRoom = true }

    func resume() {
        waitsForRoom = false
        write(rest)
        update()
    }

    func hold(_ rest: ArraySlice<UInt8>) { self.rest = rest }

    func cancel() {
        guard let list else { return }
        self.list = nil
        sent = nil
        connection.loop.lists.remove(self, from: list)
    }
}
