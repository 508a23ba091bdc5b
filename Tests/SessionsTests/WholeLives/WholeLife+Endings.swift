import Feeds
import Reactors
import Sessions
import Storage

// Some posts end their session, some sessions end because nobody uses them, and some effects that
// fail run again.
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
            return #",{"type":"close","number":0},{"type":"mark","number":\#(never)}"#
        case "ledger": return #",{"type":"close","a":0},\#(Post.set(never))"#
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

    // MARK: Unused sessions

    /// Milliseconds after which a session ends that nobody uses.
    private static let unusedLife: Int64 = 300_000

    /// Time passes, and sometimes a search follows. By the seed and the number of requests, so that
    /// the rest of a life does not depend on it.
    func endUnused() {
        guard !scope.hasTimers else { return }
        rig.table.limits.sessionExpiry = .milliseconds(Self.unusedLife)
        rig.clock.milliseconds += 10_000
        guard (seed &+ UInt64(requests.count)) % 12 == 0 else { return }
        let running = rig.table.all.filter(\.isRunning)
        let read = Set(
            readers.compactMap { one -> String? in
                guard let token = one.reader.connections.last?.token,
                    rig.output.isStreaming(token)
                else { return nil }
                return one.session
            })
        rig.findExpiring()
        for session in running where session.isEnding || session.hasEnded {
            expired += 1
            if read.contains(session.id.text) { blame("\(session.id.text) is read, and ends") }
        }
    }

    /// No session ends by itself before its time.
    func checkExpired() {
        guard !scope.losesHistory else { return }
        let asked = Set(requests.values.filter { $0.operation == .deleteSession }.map(\.id))
        let closed = Set(
            requests.values.filter { $0.mark.map(isClosing) ?? false }.map(\.id))
        var newest: [SessionKey: Int64] = [:]
        for entry in everything {
            if entry.kind == .deleted, !asked.contains(entry.session),
                !closed.contains(entry.session), !overtaken.contains(entry.session),
                let last = newest[entry.key], entry.time - last < Self.unusedLife
            {
                blame("\(entry.key) ends \(entry.time - last) ms after its last use")
            }
            newest[entry.key] = max(newest[entry.key] ?? 0, entry.time)
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
