internal import JSONCoding

/// The members of one line of a journal as text; ``JournalLine`` describes them.
struct JournalFields {
    /// A member that is missing or of the wrong kind.
    struct Missing: Error {
        var name: String
    }

    let members: [String: [UInt8]]

    init?(_ line: [UInt8]) {
        guard let members = JSON.members(of: line) else { return nil }
        self.members = members
    }

    func has(_ name: String) -> Bool { members[name] != nil }

    func string(_ name: String) throws(Missing) -> String {
        guard let value = members[name], let text = try? JSON.decode(String.self, stored: value)
        else { throw Missing(name: name) }
        return text
    }

    /// A number below ``HistoryPosition/limit``.
    func number(_ name: String) throws(Missing) -> UInt64 {
        guard let number = UInt64(try digits(name)), number < HistoryPosition.limit else {
            throw Missing(name: name)
        }
        return number
    }

    func integer(_ name: String) throws(Missing) -> Int64 {
        guard let number = Int64(try digits(name)) else { throw Missing(name: name) }
        return number
    }

    /// The JSON of the member; or the member's text if it was not JSON; empty if there is neither.
    func json(_ name: String) throws(Missing) -> [UInt8] {
        if let value = members[name] {
            guard JSON.isLine(value) else { throw Missing(name: name) }
            return value
        }
        return has(name + "Text") ? Array(try string(name + "Text").utf8) : []
    }

    private func digits(_ name: String) throws(Missing) -> String {
        guard let value = members[name] else { throw Missing(name: name) }
        return String(decoding: value, as: UTF8.self)
    }

    func snapshot(_ key: SessionKey) throws(Missing) -> Snapshot {
        Snapshot(
            session: key.session, generation: key.generation, number: try number("snapshot"),
            version: try number("version"), lastAction: try number("lastAction"),
            stateVersion: Int(try integer("stateVersion")), state: try json("state"),
            time: try integer("time"), listens: has("listens"))
    }

    func tags() throws(Missing) -> SessionTags {
        guard let value = members["tags"], let pairs = JSON.members(of: value) else {
            throw Missing(name: "tags")
        }
        var all: [SessionTag] = []
        for (name, value) in pairs {
            guard let value = try? JSON.decode(String.self, stored: value) else {
                throw Missing(name: "tags")
            }
            all.append(SessionTag(name, value))
        }
        return SessionTags(all, changed: try integer("changed"))
    }

    func counts() throws(Missing) -> LineCounts {
        LineCounts(
            sessions: try number("sessions"), records: try number("records"),
            snapshots: try number("snapshots"), answers: try number("answers"),
            running: try number("running"), tombstones: try number("tombstones"),
            timers: has("timers") ? try number("timers") : 0,
            tags: has("tags") ? try number("tags") : 0)
    }

    func answer(_ key: SessionKey) throws(Missing) -> StoredAnswer {
        let status = Int(try integer("status"))
        guard StoredAnswer.statuses.contains(status) else { throw Missing(name: "status") }
        return StoredAnswer(
            session: key.session, generation: key.generation, key: try string("answer"),
            bodyDigest: try bytes("digest"), status: status,
            body: try json("body"), time: try integer("time"))
    }

    private func bytes(_ name: String) throws(Missing) -> [UInt8] {
        let digits = Array(try string(name).utf8)
        guard digits.count.isMultiple(of: 2) else { throw Missing(name: name) }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { throw Missing(name: name) }
            bytes.append(byte)
        }
        return bytes
    }
}
