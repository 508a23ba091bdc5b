import Feeds
import Sessions

/// The layer above, as a test sees it: the reply to each request, and the bytes of every reader.
///
/// A reader accepts everything unless it has a capacity; then it accepts that many bytes and stalls
/// at exactly that byte.
final class RecordingOutput: SessionOutput {
    struct Answer {
        var token: UInt64
        var content: Reply.Content
    }

    private(set) var answers: [Answer] = []
    private(set) var failures: [SessionFailure] = []
    private(set) var finished: [UInt64] = []
    /// Readers that were refused because there was no room.
    private(set) var refused: [UInt64] = []
    /// The clients of requests and readers, by their tokens.
    var clients: [UInt64: WorkClient] = [:]
    private var bytes: [UInt64: [UInt8]] = [:]
    private var capacities: [UInt64: Int] = [:]
    private(set) var subscribers: [UInt64: Subscriber] = [:]
    /// Requests whose connection was lost before the reply.
    private var gone: Set<UInt64> = []
    /// Of the table; the output of a process is that of the next one, too.
    weak var relays: StreamRelays?
    /// The loop that shares the readers, if there is one.
    weak var second: SecondLoop?
    /// Readers on their way between loops.
    private var moving: Set<UInt64> = []

    // MARK: SessionOutput

    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int {
        guard !ReaderToken.isRelay(subscriber) else {
            return relays?.write(bytes, to: subscriber) ?? 0
        }
        guard !gone.contains(subscriber) else { return bytes.count }
        let taken = min(bytes.count, capacities[subscriber] ?? bytes.count)
        for index in 0..<taken { self.bytes[subscriber, default: []].append(bytes[index]) }
        if let capacity = capacities[subscriber] { capacities[subscriber] = capacity - taken }
        return taken
    }

    func reply(_ content: Reply.Content, to token: UInt64) {
        guard !ReaderToken.isRelay(token) else {
            relays?.reply(content, to: token) {
                RelayProblem(code: "problem", body: Array("\"\($0)\"".utf8.prefix(12)))
            }
            return
        }
        guard !gone.contains(token) else {
            if case .subscribed(let subscriber, _) = content.kind { subscriber.cancel() }
            return
        }
        answers.append(Answer(token: token, content: content))
        guard case .subscribed(let subscriber, let opening) = content.kind else { return }
        subscribers[token] = subscriber
        subscriber.send(opening)
    }

    func finish(_ subscriber: Subscriber) {
        guard !ReaderToken.isRelay(subscriber.id) else {
            relays?.finish(subscriber)
            return
        }
        finished.append(subscriber.id)
        subscribers[subscriber.id] = nil
    }

    func refuse(_ subscriber: Subscriber) {
        guard !ReaderToken.isRelay(subscriber.id) else {
            relays?.refuse(
                subscriber, RelayProblem(code: "problem", body: Array("\"memory\"".utf8)))
            return
        }
        refused.append(subscriber.id)
        subscribers[subscriber.id] = nil
        subscriber.cancel()
    }

    func client(of token: UInt64) -> WorkClient? {
        ReaderToken.isRelay(token) ? relays?.client(of: token) : clients[token]
    }

    func move(
        _ subscriber: Subscriber, to loop: Int, _ opening: ReplicaOpening
    ) -> ReaderMove {
        guard let second else { return .refused }
        second.move(subscriber.id, opening)
        leave(subscriber)
        return .moved
    }

    private func leave(_ subscriber: Subscriber) {
        subscribers[subscriber.id] = nil
        moving.insert(subscriber.id)
    }

    /// A reader has moved to another loop.
    func arrived(_ token: UInt64, _ subscriber: Subscriber) {
        guard moving.remove(token) != nil else { return subscriber.cancel() }
        subscribers[token] = subscriber
    }

    func timeHasPassed() {}

    func report(_ failure: SessionFailure, of feed: Feed) {
        failures.append(failure)
    }

    // MARK: Actions of the test

    /// Makes the connections accept every answer so far.
    func releaseAnswers() { answers.removeAll() }

    /// Makes the connection accept the answer with this token.
    func releaseAnswer(_ token: UInt64) { answers.removeAll { $0.token == token } }

    /// The reader accepts `capacity` more bytes and then stalls; nil: it accepts everything.
    func setCapacity(_ capacity: Int?, of subscriber: UInt64) {
        capacities[subscriber] = capacity
        subscribers[subscriber]?.resume()
    }

    /// The connection accepted a part of a heartbeat; this is the rest.
    func holdBack(_ text: String, of subscriber: UInt64) {
        let bytes = Array(text.utf8)
        subscribers[subscriber]?.hold(bytes[...])
    }

    /// The reader's connection is lost.
    func disconnect(_ subscriber: UInt64) {
        if moving.remove(subscriber) != nil { gone.insert(subscriber) }
        subscribers.removeValue(forKey: subscriber)?.cancel()
    }

    /// The connection of a request is lost before its reply.
    func lose(_ token: UInt64) { gone.insert(token) }

    func isStreaming(_ subscriber: UInt64) -> Bool {
        subscribers[subscriber] != nil || moving.contains(subscriber)
    }

    /// The process ends: every connection breaks, without any clean-up.
    func breakAll() {
        subscribers = [:]
        moving = []
        second?.close()
    }

    /// Forgets the replies, and with them the sessions that they hold.
    func forgetAnswers() {
        answers = []
    }

    func bytes(of subscriber: UInt64) -> [UInt8] {
        bytes[subscriber] ?? []
    }

    /// Bytes that one session has sent on a stream of several.
    func record(_ bytes: [UInt8], of subscriber: UInt64) { self.bytes[subscriber] = bytes }
}
