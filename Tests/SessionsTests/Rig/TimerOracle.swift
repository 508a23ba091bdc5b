import JSONCoding
import Storage
import Wire

@testable import Sessions

/// Checks the timers of one session by its action log. Each timer that was set, and not replaced or
/// cancelled, has fired exactly once and not early. None has fired before one that was due earlier.
struct TimerOracle {
    private struct Note: Decodable {
        struct Content: Decodable {
            var name: String?
            var number: UInt64?
            var due: String?
            var key: String?
        }
        var kind: String
        var content: Content
    }

    private(set) var faults: [String] = []
    private(set) var fired = 0
    private var timers: [String: Note.Content] = [:]
    /// The timer that has just fired: its name, and the action that has set it.
    private var expected: (name: String, setter: UInt64)?

    /// The names of timers that have not fired.
    var pending: [String] { timers.keys.sorted() }

    /// - Parameter entries: of one generation, in their order, with the notes.
    init(_ entries: [HistoryEntry]) {
        for entry in entries { follow(entry) }
    }

    private mutating func follow(_ entry: HistoryEntry) {
        let text = String(decoding: entry.content, as: UTF8.self)
        let note = entry.kind == .note ? try? JSON.decode(Note.self, stored: entry.content) : nil
        if let (name, setter) = expected {
            let key = "timer:\(name):\(entry.action)"
            let isReceived = note?.kind.hasPrefix("action.re") == true && note?.content.key == key
            if !isReceived, entry.kind != .failure || entry.action != setter {
                faults.append("after \(key) there is \(text)")
            }
            expected = nil
        }
        guard let note, let name = note.content.name else { return }
        switch note.kind {
        case "timer.set": timers[name] = note.content
        case "timer.cancelled":
            if timers.removeValue(forKey: name) == nil { faults.append("\(text) of none") }
        case "timer.fired": fire(name, note.content, at: entry.time, text)
        default: break
        }
    }

    private mutating func fire(
        _ name: String, _ content: Note.Content, at time: Int64, _ text: String
    ) {
        fired += 1
        guard let timer = timers.removeValue(forKey: name), timer.number == content.number,
            timer.due == content.due, let due = timer.due, let number = timer.number
        else {
            return faults.append("\(text), which is not set")
        }
        var now: [UInt8] = []
        Timestamp.append(milliseconds: time, to: &now)
        // Times of one form compare as texts.
        if String(decoding: now, as: UTF8.self) < due { faults.append("\(text) is early") }
        if let other = timers.values.first(where: { $0.due ?? "" < due }) {
            faults.append("\(text) before \(other)")
        }
        expected = (name, number)
    }
}
