internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// A stream of events on a connection: its beginning, its heartbeat and its end. The source sends
/// the events themselves (``HTTPConnection/writeEvents(_:)``).
final class EventStream {
    /// The properties of a stream that stay when its connection moves to another loop.
    struct Traits: Sendable {
        let request: RequestContext
        let isChunked: Bool
        let heartbeatIsEvent: Bool
        let endsAt: LoopInstant
        /// The end of the client's token; nil without one.
        let accessEnd: LoopInstant?
        /// The bytes of events that were sent while the access log was on.
        var sentBytes = 0
    }

    /// Nil once it has ended.
    private var source: (any StreamSource)?
    private(set) var traits: Traits
    private unowned let connection: HTTPConnection

    /// A stream that begins, or has come from another loop and continues with the next event.
    init(_ source: any StreamSource, _ traits: Traits, on connection: HTTPConnection) {
        self.source = source
        self.traits = traits
        self.connection = connection
    }

    var endsAt: LoopInstant { traits.endsAt }

    /// Whether the peer does not accept bytes; an event may then be sent in part.
    var isBlocked: Bool { source?.isBlocked ?? true }

    /// Sends the head and the opening of a stream; the subscriber sends the rest.
    static func begin(
        _ subscriber: Subscriber, _ opening: StreamOpening, on connection: HTTPConnection
    ) {
        begin(subscriber, opening, isChunked: subscriber.isChunked, on: connection)
    }

    /// The same for a stream of several sessions, which sends everything after the head.
    static func begin(_ joint: JointConnection, on connection: HTTPConnection) {
        let opening = StreamOpening(isChunked: joint.isChunked)
        begin(joint, opening, isChunked: joint.isChunked, on: connection)
        joint.stream.write()
    }

    /// The same for a stream that follows a list.
    static func begin(_ list: ListConnection, on connection: HTTPConnection) {
        begin(
            list, StreamOpening(isChunked: list.isChunked), isChunked: list.isChunked,
            on: connection)
    }

    private static func begin(
        _ source: any StreamSource, _ opening: StreamOpening, isChunked: Bool,
        on connection: HTTPConnection
    ) {
        guard case .waiting(let request, let options) = connection.state else {
            return source.cancel()
        }
        let loop = connection.loop
        guard !loop.service.isDraining else {
            // The request waited for a commit while all other streams were ended.
            source.cancel()
            return connection.respond(.endedStream(.draining))
        }
        if let end = options?.accessEnd, end <= loop.now {
            // The token has expired while the request waited for its session.
            source.cancel()
            return connection.respond(.endedStream(.tokenInvalid))
        }
        let age = loop.now + loop.configuration.connectionAge * loop.random(in: 0.8...1.2)
        let accessEnd = options?.accessEnd
        let traits = Traits(
            request: request, isChunked: isChunked,
            heartbeatIsEvent: options?.heartbeatIsEvent ?? false,
            endsAt: min(age, accessEnd ?? age), accessEnd: accessEnd)
        connection.state = .streaming(EventStream(source, traits, on: connection))
        // No request follows.
        connection.forgetRepeatedHead()
        loop.counters.streamsOpened += 1
        loop.countResponse(to: request, status: 200)
        options?.endSpan(status: 200)
        let snapshot = opening.snapshot
        loop.schedule.count(snapshot.count)
        // The head follows the responses of the same turn, and unsent ones.
        connection.inTurn {
            ResponseEncoder.appendStreamHead(
                status: 200, lines: loop.heads.stream(request), date: loop.date,
                isChunked: isChunked, to: &connection.output.encoded)
            let head = connection.output.encoded.count
            opening.append(retryMilliseconds: loop.jitteredRetry(), to: &connection.output.encoded)
            connection.stream?.count(
                connection.output.encoded.count - head + snapshot.count + opening.end.count)
            connection.output.append(snapshot, copyLimitBytes: 4_096)
            connection.output.append(opening.end)
            if let held = opening.held { connection.output.hold(held) }
            connection.flush()
            if connection.hasUnsent {
                connection.buffers?.pending = []
                source.waitForRoom()
            } else {
                connection.resumeReadingOfStream()
            }
        }
        // The client had closed its side before. It gets the opening, and the stream ends.
        if connection.peerIsFinished, let stream = connection.stream {
            return stream.end(retry: loop.jitteredRetry())
        }
        connection.rearm()
    }

    func count(_ bytes: Int) { traits.sentBytes += bytes }

    /// The kernel has room again.
    func resume() { source?.resume() }

    /// Tries sessions that could not be read again. Called once in a heartbeat time at least.
    func retrySessions() {
        (source as? JointConnection)?.stream.retry()
    }

    /// The peer has not accepted all bytes. The present deadline may be that of the next heartbeat,
    /// which is later than the stall timeout if that is the shorter one.
    func becomesBlocked() {
        let (loop, times) = (connection.loop, connection.loop.configuration)
        guard times.stallTimeout < times.heartbeat else { return }
        let stall = connection.lastProgress + times.stallTimeout
        loop.table.setDeadline(connection.id, min(stall, endsAt))
    }

    /// Between events, so that it cannot split one: no bytes are blocked.
    func writeHeartbeat() {
        let ping = traits.heartbeatIsEvent ? Self.pingEvent : Self.pingComment
        let bytes = traits.isChunked ? ping.chunk : ping.plain
        guard let source else { return }
        guard source.isBetweenEvents else {
            // The rest of an event is on its way from another loop; the peer has accepted all bytes
            // so far.
            connection.lastProgress = connection.loop.now
            return
        }
        source.hold(bytes[connection.writeEvents(bytes.span)...])
    }

    /// Ends the stream after its sessions have ended and everything is sent.
    func finish() {
        let ended = source
        // The sessions do not refer to it any more.
        source = nil
        (ended as? JointConnection)?.cancel()
        end(isWhole: ended?.isBetweenEvents ?? false, followedBy: [])
    }

    /// At its maximum age, or with an event at the end of the client's token (contract §3.2).
    func endInTime() {
        let loop = connection.loop
        guard let accessEnd = traits.accessEnd, loop.now >= accessEnd else {
            return end(retry: loop.jitteredRetry())
        }
        end(with: .tokenInvalid)
    }

    func end(with problem: Problem) {
        guard let source else { return connection.close(.lingering) }
        connection.loop.counters.refusals.count(problem.code)
        var bytes: [UInt8] = []
        Response.appendProblemEvent(problem, to: &bytes)
        end(isWhole: source.isBetweenEvents, followedBy: bytes)
    }

    /// Ends a stream that may be resumed: cleanly if no part of an event is under way.
    ///
    /// - Parameter retry: milliseconds until the client connects again.
    func end(retry: Int) {
        guard let source else { return connection.close(.lingering) }
        var bytes: [UInt8] = []
        EventEncoder.appendRetry(milliseconds: retry, to: &bytes)
        end(isWhole: source.isBetweenEvents, followedBy: bytes)
    }

    /// Ends with these bytes and the last chunk, or cuts off the stream in the middle of an event:
    /// the client then detects an incomplete body, and resumes.
    private func end(isWhole: Bool, followedBy bytes: [UInt8]) {
        // Unsent bytes here are complete: earlier responses and the opening.
        guard connection.hasUnsent || isWhole else {
            return connection.close(.lingering)
        }
        cancel()
        connection.state = .closing
        var last = bytes
        if traits.isChunked {
            ChunkEncoder.wrap(from: 0, in: &last)
            last.append(contentsOf: ChunkEncoder.last)
        }
        connection.inTurn {
            connection.output.append(last)
            connection.flush()
        }
        connection.rearm()
    }

    /// The connection has ended, or sends its last bytes.
    func cancel() {
        connection.logStream(traits.request, bytes: traits.sentBytes)
        source?.cancel()
    }

    // A comment is a line. A blank line after it would end a block: clients that report every block
    // would report an empty event (httpx-sse 0.4 and sseclient 0.0 do).
    private static let pingComment = framed(": ping\n")
    private static let pingEvent = framed("event: ping\ndata: {}\n\n")

    private static func framed(_ text: String) -> (plain: [UInt8], chunk: [UInt8]) {
        let plain = Array(text.utf8)
        var chunk = plain
        ChunkEncoder.wrap(from: 0, in: &chunk)
        return (plain, chunk)
    }
}

/// Where the events of a stream come from.
protocol StreamSource: AnyObject {
    /// Whether the peer does not accept bytes.
    var isBlocked: Bool { get }
    /// Whether everything that was sent ends with a whole event.
    var isBetweenEvents: Bool { get }
    func waitForRoom()
    func resume()
    /// Sends these bytes first when there is room.
    func hold(_ rest: ArraySlice<UInt8>)
    func cancel()
}

extension Subscriber: StreamSource {
    var isBetweenEvents: Bool { !isBlocked }
}

extension JointConnection: StreamSource {
    var isBlocked: Bool { stream.isBlocked }
    var isBetweenEvents: Bool { stream.isBetweenEvents }
    func waitForRoom() { stream.waitForRoom() }
    func resume() { stream.resume() }
    func hold(_ rest: ArraySlice<UInt8>) { stream.hold(rest) }
}
