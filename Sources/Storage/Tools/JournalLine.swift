internal import JSONCoding

// A journal as text, version 2: one JSON object a line (NDJSON, UTF-8). The first line names the
// format; then come all live sessions ordered by id, each followed by its own lines; then the
// tombstones, the oldest first; then the end, which counts the preceding lines by kind: without it
// the text was cut off. (Version 1 had no end.) The first member of a line names its kind:
//
//   {"journal":2}
//   {"session":"s1","reactor":"alerts","generation":"k3m9x0ab","created":1700000000000,
//    "owner":"ada","input":{…},"keptAfter":0,"keptVersion":0}
//                                                  `owner` and `input` where there is one
//   {"record":1,"kind":"mutation","version":1,"action":1,"time":…,"content":{…},
//    "events":[{"name":"alertMessage","data":"Hello"}],"traceparent":"00-…"}
//   {"record":2,"part":1,"kind":"note",…}          a note of the action log before record 2
//   {"snapshot":1,"version":1,"lastAction":1,"stateVersion":1,"time":…,"state":{…},
//    "listens":1}                                 `listens` if it listened to sources
//   {"answer":"<key>","digest":"<hex>","status":200,"time":…,"body":{…}}
//   {"running":3,"action":{…},"subject":"ada","begun":2}
//                                                  `subject` if there is one, `begun` and `attempt`
//                                                  if not 1; while the action is paused, `wait`,
//                                                  and `step` if the failed step has a name
//   {"timer":"close","number":3,"due":1700000060000,"action":{…}}
//   {"tags":{"status":"open"},"changed":1700000060000}
//   {"tombstone":"s0","reactor":"alerts","generation":"…","deleted":…}
//   {"end":9,"sessions":1,"records":2,"snapshots":1,"answers":1,"running":1,"tombstones":1,
//    "timers":1,"tags":1}                         `timers` and `tags` if there are some
//
// Empty members are omitted. JSON of the file is copied unchanged; other content (which was changed
// by another program, or is a body of another kind) becomes a string under the same name with the
// suffix "Text". Deleted sessions that are not yet removed are omitted.

struct JournalLine {
    private(set) var bytes: [UInt8] = [0x7B]

    init(_ kind: StaticString, _ value: UInt64) {
        add(kind, value)
    }

    init(_ kind: StaticString, _ value: String) {
        add(kind, value)
    }

    init(_ kind: StaticString, json value: [UInt8]) {
        add(kind, json: value)
    }

    mutating func add(_ name: StaticString, _ value: UInt64) {
        begin("\(name)")
        bytes += Array("\(value)".utf8)
    }

    mutating func add(_ name: StaticString, _ value: Int64) {
        begin("\(name)")
        bytes += Array("\(value)".utf8)
    }

    mutating func add(_ name: StaticString, _ value: String) {
        begin("\(name)")
        JSON.appendString(value, to: &bytes)
    }

    mutating func add(_ name: StaticString, json value: [UInt8]) {
        guard !value.isEmpty else { return }
        if JSON.isLine(value) {
            begin("\(name)")
            bytes += value
        } else {
            begin("\(name)Text")
            JSON.appendString(String(decoding: value, as: UTF8.self), to: &bytes)
        }
    }

    mutating func add(_ name: StaticString, events: [HistoryEntry.Event]) {
        guard !events.isEmpty else { return }
        begin("\(name)")
        bytes.append(0x5B)
        for (index, event) in events.enumerated() {
            if index > 0 { bytes.append(0x2C) }
            var one = JournalLine("name", event.name)
            one.add("data", json: event.data)
            bytes += one.bytes + [0x7D]
        }
        bytes.append(0x5D)
    }

    var finished: [UInt8] { bytes + [0x7D, 0x0A] }

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(0x2C) }
        JSON.appendString(name, to: &bytes)
        bytes.append(0x3A)
    }
}

/// The number of lines of each kind in a journal as text.
struct LineCounts: Equatable {
    var sessions: UInt64 = 0
    var records: UInt64 = 0
    var snapshots: UInt64 = 0
    var answers: UInt64 = 0
    var running: UInt64 = 0
    var tombstones: UInt64 = 0
    var timers: UInt64 = 0
    var tags: UInt64 = 0

    var lines: UInt64 {
        1 + sessions + records + snapshots + answers + running + tombstones + timers + tags
    }
}

extension JournalLine {
    /// The version of the text that this program writes and reads.
    static let version: UInt64 = 2

    static let head = JournalLine("journal", version).finished

    static func end(_ counts: LineCounts) -> [UInt8] {
        var line = JournalLine("end", counts.lines)
        line.add("sessions", counts.sessions)
        line.add("records", counts.records)
        line.add("snapshots", counts.snapshots)
        line.add("answers", counts.answers)
        line.add("running", counts.running)
        line.add("tombstones", counts.tombstones)
        if counts.timers > 0 { line.add("timers", counts.timers) }
        if counts.tags > 0 { line.add("tags", counts.tags) }
        return line.finished
    }

    static func snapshot(_ snapshot: Snapshot) -> [UInt8] {
        var line = JournalLine("snapshot", snapshot.number)
        line.add("version", snapshot.version)
        line.add("lastAction", snapshot.lastAction)
        line.add("stateVersion", Int64(snapshot.stateVersion))
        line.add("time", snapshot.time)
        line.add("state", json: snapshot.state)
        if snapshot.listens { line.add("listens", 1 as Int64) }
        return line.finished
    }

    static func answer(_ answer: StoredAnswer) -> [UInt8] {
        var line = JournalLine("answer", answer.key)
        line.add("digest", Self.hexadecimal(answer.bodyDigest))
        line.add("status", Int64(answer.status))
        line.add("time", answer.time)
        line.add("body", json: answer.body)
        return line.finished
    }

    static func running(_ action: RunningAction) -> [UInt8] {
        var line = JournalLine("running", action.action)
        line.add("action", json: action.content)
        if let subject = action.subject { line.add("subject", subject) }
        if action.begun != 1 { line.add("begun", Int64(action.begun)) }
        if action.attempt != 1 { line.add("attempt", Int64(action.attempt)) }
        if let wait = action.wait { line.add("wait", wait) }
        if let step = action.step { line.add("step", step) }
        return line.finished
    }

    static func timer(_ timer: SessionTimer) -> [UInt8] {
        var line = JournalLine("timer", timer.name.text)
        line.add("number", timer.number)
        line.add("due", timer.due)
        line.add("action", json: timer.content)
        return line.finished
    }

    static func tags(_ tags: SessionTags) -> [UInt8] {
        var line = JournalLine("tags", json: tags.json)
        line.add("changed", tags.changed)
        return line.finished
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self)
    }
}
