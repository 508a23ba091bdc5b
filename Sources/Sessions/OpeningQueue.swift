internal import DequeModule
internal import Feeds
internal import JSONCoding

/// Streams of parts of large states that wait to be opened.
///
/// Design: those of one session that arrive together search the state once (``ShownVersion``). The
/// loop does other work between two passes of them.
final class OpeningQueue {
    private var waiting: Deque<(session: Session, request: SubscriptionRequest)> = []
    private static let limit = 4_096
    private let background: BackgroundQueue
    private let pass: PassMeter

    init(_ background: BackgroundQueue, _ pass: PassMeter) {
        self.background = background
        self.pass = pass
    }

    /// Without it, streams are opened at once.
    var hasRoom: Bool { waiting.count < Self.limit }

    /// The session stays in memory until the stream is opened.
    func append(_ request: SubscriptionRequest, of session: Session) {
        session.feed.beginArchiveRead()
        waiting.append((session, request))
        if waiting.count == 1 { continueLater() }
    }

    /// The parts that the waiting streams of the session show.
    func pointers(of session: Session) -> [JSONPointer] {
        waiting.compactMap { $0.session === session ? $0.request.selection.pointer : nil }
    }

    /// Those of other sessions keep their order: a session waits for the ones before it only.
    private func openSome() {
        guard let session = waiting.first?.session else { return }
        var isFirst = true
        while let next = waiting.first, next.session === session, isFirst || !pass.isUsedUp {
            // Its pointer is looked for with those of the others.
            session.open(next.request)
            waiting.removeFirst()
            session.feed.endArchiveRead()
            isFirst = false
        }
        if !waiting.isEmpty { continueLater() }
    }

    private func continueLater() { background.append { [self] in openSome() } }

    func removeAll() { waiting = [] }
}
