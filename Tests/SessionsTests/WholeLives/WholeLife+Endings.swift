import Feeds
import Reactors
import Sessions
import Storage

// Some posts end their session, and some effects that fail run again.
extension WholeLife {
    /// No commit that is kept has this number.
    private static let never = 8_888_888

    /// By the mark, so that the rest of a life does not depend on it.
    private func isClosing(_ mark: Int) -> Bool { mark % 19 == 3 && !mark.isMultiple(of: 5) }

    /// Last actions of the body: one that ends the session, and one that is not carried out.
    func close(_ id: String, _ mark: Int) -> String {
        guard isClosing(mark) else { return "" }
        let never = Self.never
        switch reactors[id] {
        case "player":
            return """
                ,{"type":"close","number":\(mark)},{"type":"mark","number":\(never)}
                """
        case "ledger": return #",{"type":"close","a":\#(mark)},\#(Post.set(never))"#
        default: return ""
        }
    }

    /// Nothing follows the end, in its own action and in others. The end is in the commit of what
    /// it answers.
    func checkClosed() {
        for entry in everything where !stubbed.contains(entry.session) {
            for event in entry.events {
                let data = String(decoding: event.data, as: UTF8.self)
                if data == "\(Self.never)" || data.contains("closed") {
                    blame("\(entry.key) has \(data), which is after its end")
                }
            }
        }
        let over = Set(everything.filter { $0.kind == .deleted }.map(\.key))
        for answer in rig.output.answers {
            guard case .received(let receipt) = answer.content.kind,
                let request = requests[answer.token], let mark = request.mark, isClosing(mark),
                !stubbed.contains(request.id),
                reactors[request.id] == "ledger" || reactors[request.id] == "player"
            else { continue }
            if !over.contains(answer.content.feed.key) { blame("\(request) is not the end") }
            if receipt.rejected.isEmpty { blame("\(request) was carried out as a whole") }
        }
    }

    /// The number of answers to posts that have ended their session.
    var closedCount: Int {
        rig.output.answers.count { answer in
            guard case .received(let receipt) = answer.content.kind, !receipt.rejected.isEmpty,
                let mark = requests[answer.token]?.mark
            else { return false }
            return isClosing(mark)
        }
    }

    // MARK: Attempts

    /// The reactor wants two attempts of effects that fail. A process that ends repeats any of
    /// them.
    func checkAttempts() {
        for action in rig.journal.keptBatch.started where action.action > 0 {
            let text = String(decoding: action.content, as: UTF8.self)
            if action.wait != nil, action.attempt < 2 || !text.contains("again") {
                blame("\(action) is paused")
            }
            if action.begun > RunningAction.beginLimit { blame("\(action) was begun so often") }
        }
    }
}

/// A clock on which every sleep ends at once.
struct HastyClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        func duration(to other: Instant) -> Duration { other.offset - offset }

        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
    }
}
