import Storage
import Testing
import TestRandomness

@testable import Feeds
@testable import Sessions

@Suite("History — the part of a session's history that memory keeps", .timeLimit(.minutes(60)))
struct HistoryTests {
    /// The expected history: its entries, each with its data.
    private struct Model {
        var entries: [(head: HistoryEntry.Head, data: [[UInt8]], cause: String?)] = []
        var end = HistoryEnd()
        var committed = HistoryEnd()
        var keptAfter: UInt64 = 0

        func entries(
            notes: Bool
        ) -> [(head: HistoryEntry.Head, data: [[UInt8]], cause: String?)] {
            entries.filter { ($0.head.kind == .note) == notes }
        }

        func exceeds(_ retention: Retention, notes: Bool) -> Bool {
            let some = entries(notes: notes)
            let bytes = some.reduce(0) {
                $0 + $1.data.reduce(0) { $0 + $1.count } + ($1.cause?.utf8.count ?? 0)
            }
            return some.count > retention.records || bytes > retention.bytes
        }

        mutating func drop(_ retention: Retention) {
            while exceeds(retention, notes: false), entries(notes: false).count > 1,
                let first = entries.firstIndex(where: { $0.head.kind != .note }),
                entries[first].head.position.number < committed.number
            {
                keptAfter = entries.remove(at: first).head.position.number
            }
            while let first = entries.firstIndex(where: { $0.head.kind == .note }),
                entries[first].head.position <= committed.position,
                entries[first].head.position.number <= keptAfter || exceeds(retention, notes: true)
            {
                entries.remove(at: first)
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `it keeps the newest entries, in order`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let history = History()
        history.keepNotes()
        var model = Model()
        let retention = Retention(records: 20, bytes: 800)
        for step in 0..<400 {
            switch Int.random(in: 0..<12, using: &generator) {
            case 0:
                history.trim(to: retention)
                model.drop(retention)
            case 1:
                model.end = model.committed
                model.entries.removeAll { $0.head.position > model.end.position }
                history.rollBack(to: model.end)
            case 2, 3:
                model.committed = model.end
                history.commit(model.end)
            case 4, 5, 6:
                model.end.notes += 1
                let content = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: 40)
                history.appendNote(action: 0, time: 0, content)
                let head = HistoryEntry.Head(
                    .note, at: model.end.position, version: model.end.version)
                model.entries.append((head, [content], nil))
            default:
                add(step, to: history, &model, &generator)
            }
            check(history, model)
        }
    }

    private func add(
        _ step: Int, to history: History, _ model: inout Model, _ generator: inout SeededGenerator
    ) {
        let isMutation = Bool.random(using: &generator)
        let cause =
            Int.random(in: 0..<3, using: &generator) == 0
            ? String(repeating: "k", count: Int.random(in: 1...60, using: &generator)) : nil
        history.begin(isMutation ? .mutation : .activity, cause: cause)
        model.end = HistoryEnd(
            number: model.end.number + 1, version: model.end.version + (isMutation ? 1 : 0))
        let data = (0..<Int.random(in: 0..<4, using: &generator)).map { index in
            [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: index * 30)
        }
        for one in data { history.append(.pulse(0), one) }
        let head = HistoryEntry.Head(
            isMutation ? .mutation : .activity, at: model.end.position, version: model.end.version)
        model.entries.append((head, data, cause))
    }

    private func check(_ history: History, _ model: Model) {
        #expect(history.newest == model.end)
        #expect(history.committed == model.committed)
        #expect(history.keptAfter == model.keptAfter)
        for notes in [false, true] {
            let start = history.keptPosition(notes: notes)
            guard
                case .entries(let kept) = history.entries(
                    after: start, through: model.end.position, notes: notes)
            else {
                Issue.record("what is kept from \(start) is trimmed")
                return
            }
            let expected = model.entries.filter {
                $0.head.position > start && (notes || $0.head.kind != .note)
            }
            #expect(kept.map(\.head) == expected.map(\.head))
            #expect(kept.map { Self.data(of: $0.events) } == expected.map(\.data))
            #expect(kept.map(\.events.cause) == expected.map(\.cause))
        }
    }

    private static func data(of events: KeptEvents) -> [[UInt8]] {
        (0..<events.count).map { Array(events.data(at: $0)) }
    }

    @Test func `dropped entries count as trimmed and are not shown in part`() {
        let history = History()
        for _ in 0..<5 { history.begin(.mutation) }
        history.commit(history.newest)
        history.trim(to: Retention(records: 2))
        #expect(history.keptAfter == 3)
        #expect(history.keptVersion == 3)
        let end = HistoryPosition(5)
        if case .entries = history.entries(after: HistoryPosition(2), through: end, notes: false) {
            Issue.record("record 3 is not kept")
        }
        guard
            case .entries(let kept) = history.entries(
                after: HistoryPosition(3), through: end, notes: false)
        else {
            Issue.record("records 4 and 5 are kept")
            return
        }
        #expect(kept.map(\.head.position.number) == [4, 5])
    }
}
