import Feeds
import JSONCoding
import Sessions
import Storage
import Wire

/// The expected events of a session's streams, derived from its committed records alone: the model
/// for comparison. It does not know logs, offsets and steps.
struct Truth {
    /// The state's JSON at each version, and the record at which that version was reached.
    private(set) var states: [String] = []
    /// The version at each record number.
    private(set) var versions: [UInt64] = [0]
    private let records: [HistoryEntry]
    private let isEnded: Bool
    /// Including notes.
    private let all: [HistoryEntry]
    private let generation: String

    init(_ kept: [HistoryEntry], of session: Session) throws {
        try self.init(
            kept, of: SessionKey(session: session.id.text, generation: session.generation.text))
    }

    /// - Parameter origin: the state that a fork begins with, as JSON.
    init(_ kept: [HistoryEntry], of life: SessionKey, from origin: [UInt8]? = nil) throws {
        generation = life.generation
        all = kept.filter { $0.key == life && $0.kind != .created && $0.kind != .deleted }
        records = all.filter { $0.kind != .note }
        isEnded = kept.contains { $0.key == life && $0.kind == .deleted }
        var state = Ledger().initialState
        if let origin { state = try JSON.decode(Ledger.State.self, from: origin) }
        states.append(try Self.json(state))
        for record in records {
            if record.kind == .mutation {
                let mutation = try JSON.decode(Ledger.Mutation.self, from: record.content)
                Ledger().reduce(state: &state, mutation: mutation)
                states.append(try Self.json(state))
            }
            versions.append(UInt64(states.count - 1))
        }
    }

    /// Whether record numbers and versions rise by one.
    var isGapless: Bool {
        records.map(\.number) == Array(1..<UInt64(records.count + 1))
            && records.map(\.version) == Array(versions.dropFirst())
    }

    /// Every event of a stream of this selection, from the creation on.
    func events(_ selection: Selection) -> [Heard] {
        var events: [Heard] = []
        guard !selection.log else { return all.map(entry) }
        for record in records { events += self.events(selection, of: record) }
        return events
    }

    /// The version at a record, including the session's end; nil: there is no such record.
    func version(at number: UInt64) -> UInt64? {
        if number < UInt64(versions.count) { return versions[Int(number)] }
        return isEnded && number == UInt64(versions.count) ? versions.last : nil
    }

    /// The pulses `a`, `b` and `filling` at a version, as a snapshot shows them.
    func pulses(at version: UInt64) -> String {
        let state = states[Int(version)]
        let parts = ["a", "b", "filling"].map { "\"\($0)\":\(Self.part("/\($0)", of: state))" }
        return "{\(parts.joined(separator: ","))}"
    }

    /// The entry of the action log for a record or a note.
    private func entry(_ record: HistoryEntry) -> Heard {
        let part = record.part > 0 ? ".\(record.part)" : ""
        let id = "\(generation).\(record.number)\(part)"
        let content = String(decoding: record.content, as: UTF8.self)
        var kind = record.kind == .mutation ? "mutation" : "activity"
        var rest = "\"kind\":\"\(kind)\",\"content\":\(content)}"
        if record.kind == .mutation { rest = "\"version\":\(record.version)," + rest }
        if record.kind == .note {
            kind = String(content.split(separator: "\"", maxSplits: 4)[3])
            rest = String(content.dropFirst())
        }
        var time: [UInt8] = []
        Timestamp.append(milliseconds: record.time, to: &time)
        let data =
            "{\"position\":\"\(id)\",\"time\":\"\(String(decoding: time, as: UTF8.self))\","
            + "\"action\":\(record.action),\(rest)"
        return Heard(name: kind, id: id, data: data)
    }

    private func events(_ selection: Selection, of record: HistoryEntry) -> [Heard] {
        var shown: [(index: Int, event: Heard)] = []
        for (offset, event) in record.events.enumerated() {
            let isChosen = record.kind == .activity ? selection.activities : selection.pulses != 0
            guard isChosen else { continue }
            let data = String(decoding: event.data, as: UTF8.self)
            shown.append((offset + 1, Heard(name: event.name, id: "", data: data)))
        }
        if record.kind == .mutation, let state = shownState(selection, at: record.version) {
            shown.append((record.events.count + 1, Heard(name: "state", id: "", data: state)))
        }
        let bare = "\(generation).\(record.number)"
        for index in shown.indices {
            let isLast = index == shown.count - 1
            shown[index].event.id = isLast ? bare : "\(bare).\(shown[index].index)"
        }
        return shown.map(\.event)
    }

    private func shownState(_ selection: Selection, at version: UInt64) -> String? {
        let state = states[Int(version)]
        switch selection.states {
        case .none: return nil
        case .whole: return state
        case .part(let pointer):
            let part = Self.part(pointer.description, of: state)
            return part == Self.part(pointer.description, of: states[Int(version) - 1])
                ? nil : part
        }
    }

    private static func part(_ pointer: String, of state: String) -> String {
        var value = try? JSON.decode(JSONValue.self, from: Array(state.utf8))
        for token in (try? JSONPointer(pointer).tokens) ?? [] {
            switch value {
            case .object?: value = value?[token]
            case .array?: value = Int(token).flatMap { String($0) == token ? value?[$0] : nil }
            default: value = nil
            }
        }
        var bytes: [UInt8] = []
        guard let value, (try? JSON.encode(value, into: &bytes)) != nil else { return "null" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func json(_ state: Ledger.State) throws -> String {
        var bytes: [UInt8] = []
        try JSON.encode(state, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
