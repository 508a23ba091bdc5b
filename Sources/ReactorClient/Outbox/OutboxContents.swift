internal import ClientMachine
internal import JSONCoding

/// The contents of an outbox's file: the result of its lines.
struct OutboxContents: Equatable, Sendable {
    private(set) var outbox = Outbox()
    private(set) var states: [SessionName: SavedState] = [:]
    /// The session whose state is the oldest comes first. Invariant: has the sessions of `states`.
    private var order: [SessionName] = []
    /// Bytes of the states. Invariant: at most `stateLimitBytes`, and at most `stateLimit` of them.
    private var stateBytes = 0

    /// For all kept states; beyond it those that were saved longest ago are dropped.
    static let stateLimitBytes = 67_108_864
    /// The bound of their number; likewise.
    static let stateLimit = 1_024

    /// - Returns: false if the change does not follow from those before it.
    mutating func apply(_ change: OutboxChange) -> Bool { outbox.apply(change) }

    mutating func apply(_ state: SavedState?, of session: SessionName) {
        if let old = states.removeValue(forKey: session) {
            stateBytes -= old.state?.count ?? 0
            order.removeAll { $0 == session }
        }
        guard let state else { return }
        states[session] = state
        order.append(session)
        stateBytes += state.state?.count ?? 0
        while stateBytes > Self.stateLimitBytes || order.count > Self.stateLimit,
            let oldest = order.first
        {
            apply(nil, of: oldest)
        }
    }

    /// The same without the past, as a file that begins with it.
    func encoded(account: String?) -> [UInt8] {
        let head = OutboxRecord(kind: .head, form: Self.form, account: account)
        return OutboxLine.encoded(
            [head] + outbox.changes.map(OutboxRecord.init)
                + order.map { OutboxRecord(states[$0], of: $0) })
    }

    /// The present form of a file. Forms 1 and 2 were lines of words in groups.
    private static let form = 3

    /// The reason why a file cannot be read.
    enum Fault: Error, Equatable {
        case damaged(at: Int, String)
        /// Another version of this library has written it.
        case version(Int)
        /// nil: no account.
        case account(String?)
    }

    /// Reads a file.
    ///
    /// - Returns: what it has, and its length without a line at the end that was cut off.
    static func read(
        _ file: [UInt8], account: String?, keepsStates: Bool
    ) throws(Fault) -> (OutboxContents, Int) {
        // A crash of the system can leave zeros where a write was to come; no line ends with one.
        let bytes = file.prefix((file.lastIndex { $0 != 0 } ?? -1) + 1)
        var contents = OutboxContents()
        var offset = 0
        while let end = bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) {
            guard let json = OutboxLine.json(bytes[offset..<end]) else {
                if offset == 0, let form = earlierForm(bytes) { throw .version(form) }
                throw .damaged(at: offset, "a line does not have its checksum")
            }
            if offset == 0 { try check(json, account: account) }
            guard let records = try? JSON.decode([OutboxRecord].self, from: json) else {
                throw .damaged(at: offset, "a line has an unknown form")
            }
            for record in records.dropFirst(offset == 0 ? 1 : 0) {
                guard contents.apply(record, keepsStates: keepsStates) else {
                    throw .damaged(at: offset, "a line does not follow from those before it")
                }
            }
            offset = end + 1
        }
        // The first line was durable before the file had its name.
        guard offset > 0 else {
            throw .damaged(at: bytes.count, "the file ends in its first line")
        }
        // Else the line is whole, and another byte is in the place of its line feed.
        guard OutboxLine.json(bytes[offset...].dropLast()) == nil else {
            throw .damaged(at: offset, "a line has no end")
        }
        return (contents, offset)
    }

    /// 1 or 2 for one of these forms. They began with 27 bytes of lengths and checksums.
    private static func earlierForm(_ bytes: ArraySlice<UInt8>) -> Int? {
        let words = bytes.dropFirst(27).split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard words.count == 3, words[0].elementsEqual("reactor-client-outbox".utf8) else {
            return nil
        }
        return Int(String(decoding: words[1], as: UTF8.self))
    }

    private static func check(_ json: [UInt8], account: String?) throws(Fault) {
        guard let head = try? JSON.decode(Head.self, from: json) else {
            throw .damaged(at: 0, "the file is not an outbox of a client")
        }
        guard head.form == Self.form else { throw .version(head.form) }
        // By bytes: texts that Swift regards as equal can be the names of two users.
        guard head.account.map({ Array($0.utf8) }) == account.map({ Array($0.utf8) }) else {
            throw .account(head.account)
        }
    }

    /// The first record of a line; the others may be of a form that this version does not know.
    private struct Head: Decodable {
        let form: Int
        let account: String?

        private enum Key: CodingKey { case form, account }

        init(from decoder: any Decoder) throws {
            var records = try decoder.unkeyedContainer()
            let record = try records.nestedContainer(keyedBy: Key.self)
            form = try record.decode(Int.self, forKey: .form)
            account = try record.decodeIfPresent(String.self, forKey: .account)
        }
    }

    private mutating func apply(_ record: OutboxRecord, keepsStates: Bool) -> Bool {
        if let saved = record.saved {
            if keepsStates { apply(saved.state, of: saved.session) }
            return true
        }
        return record.change.map { apply($0) } ?? false
    }
}
