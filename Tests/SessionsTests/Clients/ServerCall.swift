import ClientMachine
import Feeds
import Sessions
import Wire

@testable import ReactorHosting

/// One request on its connection, as a server process sees it: the response, and for a stream the
/// bytes that follow.
final class ServerCall {
    enum End { case whole, cut }

    let token: UInt64
    private(set) var head: ClientResponse?
    /// The bytes of the body that the connection has accepted.
    private(set) var bytes: [UInt8] = []
    private(set) var end: End?
    /// Those of them that have left for the client.
    private(set) var readCount = 0
    /// Bytes that the connection accepts before the client reads any; nil: all.
    let capacity: Int?
    /// The time at which the client's token ends, in milliseconds; nil without one.
    var accessEnd: Int64?
    var options = RequestOptions()
    /// Nil if states come whole.
    private var patched: PatchedStream?
    private(set) var source = Source.none
    /// Kept beyond the end of the stream, which may be a call of its own.
    private var joint: JointCall?

    enum Source {
        case none
        case session(Subscriber)
        case sessions(JointCall)
    }

    init(token: UInt64, capacity: Int?, patched: PatchedStream?) {
        self.token = token
        // The client reads no part of a block before it is whole.
        self.capacity = patched == nil ? capacity : nil
        self.patched = patched
    }

    var isStream: Bool { head?.status == 200 && options.wantsStream }
    var unread: ArraySlice<UInt8> { bytes[readCount...] }

    // MARK: The server's side

    func respond(_ response: Response) {
        guard head == nil else { return }
        let fields = response.fields.map { ClientRequest.Field($0.0, $0.1) }
        switch response.body {
        case .bytes(let body), .constant(let body):
            head = ClientResponse(response.status, fields: fields, body: body)
        case .parts(let beginning, let shared, let last):
            head = ClientResponse(response.status, fields: fields, body: beginning + shared + last)
        case .endedStream(let problem):
            beginStream(.none)
            EventEncoder.appendRetry(milliseconds: 3_000, to: &bytes)
            Response.appendProblemEvent(problem, to: &bytes)
        case .streamHead: head = ClientResponse(response.status, fields: fields)
        }
        end = .whole
    }

    func beginStream(_ source: Source) {
        head = ClientResponse(200, fields: [.init("Content-Type", "text/event-stream")])
        self.source = source
    }

    func open(_ joint: JointCall) {
        self.joint = joint
        source = .sessions(joint)
        joint.open()
    }

    func begin(_ subscriber: Subscriber, _ opening: StreamOpening, retry: Int) {
        beginStream(.session(subscriber))
        var start: [UInt8] = []
        opening.append(retryMilliseconds: retry, to: &start)
        start += opening.snapshot + opening.end
        let taken = write(start.span)
        subscriber.hold(start[taken...])
    }

    func write(_ new: Span<UInt8>) -> Int {
        guard end == nil else { return new.count }
        let taken = min(new.count, capacity.map { max($0 - unread.count, 0) } ?? new.count)
        accept((0..<taken).map { new[$0] })
        return taken
    }

    private func accept(_ new: [UInt8]) { bytes += patched?.translate(new) ?? new }

    func finish(_ how: End) {
        if end == nil { end = how }
        source = .none
    }

    /// The server ends the stream with these bytes; in the middle of an event, without them.
    func endStream(_ last: [UInt8]) {
        guard end == nil, head != nil else { return }
        let isWhole = isBetweenEvents
        cancel()
        if isWhole { accept(last) }
        finish(isWhole ? .whole : .cut)
    }

    func beat() {
        guard end == nil, isStream, isBetweenEvents else { return }
        let ping = Array(": ping\n".utf8)
        let rest = ping[write(ping.span)...]
        switch source {
        case .session(let subscriber): subscriber.hold(rest)
        case .sessions(let joint): joint.stream.hold(rest)
        case .none: break
        }
    }

    private var isBetweenEvents: Bool {
        switch source {
        case .session(let subscriber): !subscriber.isBlocked
        case .sessions(let joint): joint.stream.isBetweenEvents
        case .none: false
        }
    }

    /// The connection is gone.
    func cancel() {
        switch source {
        case .session(let subscriber): subscriber.cancel()
        case .sessions(let joint): joint.cancel()
        case .none: break
        }
        source = .none
    }

    // MARK: The network's side

    /// Takes bytes off the connection, which then accepts others.
    func read(_ count: Int) -> [UInt8] {
        let read = Array(unread.prefix(count))
        readCount += read.count
        switch source {
        case .session(let subscriber): if subscriber.isBlocked { subscriber.resume() }
        case .sessions(let joint): if joint.stream.isBlocked { joint.stream.resume() }
        case .none: break
        }
        return read
    }
}

/// The connection of a stream of several sessions.
final class JointCall: JointStreamOutput {
    private unowned let call: ServerCall
    private let joints: JointMessages
    private let retry: Int
    private let request: JointStream.Request
    private(set) lazy var stream = JointStream(
        request, number: call.token, loop: 0, loops: 1, output: self, work: WorkBudget())

    init(
        _ call: ServerCall, _ request: JointStream.Request, _ joints: JointMessages, retry: Int
    ) {
        self.call = call
        self.request = request
        self.joints = joints
        self.retry = retry
    }

    func open() {
        joints.add(stream, call.token)
        stream.open()
    }

    func cancel() {
        joints.remove(call.token)
        stream.cancel()
    }

    func begin() {
        call.beginStream(.sessions(self))
        var start: [UInt8] = []
        EventEncoder.appendRetry(milliseconds: retry, to: &start)
        stream.hold(start[call.write(start.span)...])
        stream.write()
    }

    func refuse(_ pulse: String) {
        cancel()
        call.respond(.problem(Problem(404, "unknown_pulse", "no reactor has a pulse \(pulse)")))
    }

    func wrap(_ bytes: inout [UInt8]) {}
    func write(_ bytes: Span<UInt8>) -> Int { call.write(bytes) }

    func end() {
        joints.remove(call.token)
        call.finish(.whole)
    }

    func cut() {
        cancel()
        call.finish(.cut)
    }

    func count(_ problem: String) {}
    func send(_ requests: [RelayRequest], to loop: Int) { joints.send(requests) }
}
