internal import JSONCoding

/// One session of a server's journal, as `reactor-server journal export` writes it.
///
/// ```swift
/// let session = try ExportedSession("order-7", of: String(contentsOfFile: "orders.ndjson"))
/// #expect(try session.replay(with: Orders()) == nil)
/// ```
public struct ExportedSession: Sendable {
    /// The session's id.
    public let id: String
    /// The name under which its reactor was hosted.
    public let reactor: String

    /// The subject that created it; nil if the client was not authenticated.
    public let owner: String?
    /// The input with which the session was created; nil if it had none.
    private let input: JSONValue?

    /// The version at which the kept history begins; 0 if nothing was trimmed.
    let start: UInt64
    private(set) var entries: [Entry] = []
    private var newestRecord: UInt64?
    /// The saved states, by version.
    private(set) var snapshots: [UInt64: ExportLine] = [:]

    /// A record or a note.
    struct Entry: Sendable {
        let line: ExportLine
        /// The line's number in the text, from 1.
        let lineNumber: Int
    }

    /// Finds a session in an export.
    ///
    /// The lines of other sessions may be missing, so that a test can keep one session's lines. The
    /// memory is that of the session's lines.
    ///
    /// - Parameters:
    ///   - id: The session's id. Default nil: the first session of the text.
    ///   - export: The output of `reactor-server journal export`.
    /// - Throws: ``ReplayFault``: no such session, or a line of it cannot be read.
    public init(_ id: String? = nil, of export: String) throws(ReplayFault) {
        var found: ExportedSession?
        var isInside = false
        var number = 0
        for text in export.utf8.split(separator: 0x0a, omittingEmptySubsequences: false) {
            number += 1
            guard let kind = ExportLine.kind(of: text) else {
                guard !isInside || text.isEmpty else {
                    throw ReplayFault(line: number, reason: "it is not a line of an export")
                }
                continue
            }
            switch kind {
            case .session:
                guard found == nil else { isInside = false; break }
                let line = try ExportLine(text, number)
                guard let name = line.session, id == nil || name == id else { break }
                guard line.keptVersion ?? 0 < Self.versionLimit else {
                    throw ReplayFault(line: number, reason: "no session has that many versions")
                }
                found = Self(name, line)
                isInside = true
            case .record where isInside:
                try found?.append(Entry(line: try ExportLine(text, number), lineNumber: number))
            case .snapshot where isInside:
                let line = try ExportLine(text, number)
                if let version = line.version { found?.snapshots[version] = line }
            case .other where isInside: isInside = !ExportLine.endsSession(text)
            default: break
            }
        }
        guard let found else {
            let name = id.map { "the session \($0)" } ?? "any session"
            throw ReplayFault(line: nil, reason: "the text does not contain \(name)")
        }
        self = found
    }

    /// As the journal's; versions after it cannot overflow.
    private static let versionLimit: UInt64 = 1 << 62

    /// - Throws: a record is missing before it: a replay would report a difference that is none.
    private mutating func append(_ entry: Entry) throws(ReplayFault) {
        let record = entry.line.record ?? 0
        if let newest = newestRecord, record &- 1 != newest {
            throw ReplayFault(
                line: entry.lineNumber, reason: "the record before record \(record) is \(newest)")
        }
        if entry.line.part == nil { newestRecord = record }
        entries.append(entry)
    }

    private init(_ id: String, _ line: ExportLine) {
        self.id = id
        reactor = line.reactor ?? ""
        owner = line.owner
        input = line.input
        start = line.keptVersion ?? 0
    }

    /// The input with which the session was created, for a reactor that needs it.
    ///
    /// ```swift
    /// let auction = Auction(id: session.id, lot: try session.input(as: NewAuction.self).lot)
    /// #expect(try session.replay(with: auction) == nil)
    /// ```
    ///
    /// - Throws: ``ReplayFault`` if the input cannot be decoded, or the session had none and the
    ///   type is not optional.
    public func input<Input: Decodable>(as type: Input.Type) throws(ReplayFault) -> Input {
        do {
            return try JSON.decode(type, stored: ReplayJSON.bytes(input ?? .null))
        } catch {
            throw ReplayFault(line: nil, reason: "the input can't be decoded: \(error.sentence)")
        }
    }
}

/// Why an exported session cannot be replayed: it cannot be read, or today's types cannot read it.
public struct ReplayFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line of the export, from 1; nil if no line is at fault.
    public let line: Int?
    /// The fault, with the record and its version if there is one.
    public let reason: String

    /// One sentence.
    public var description: String { line.map { "line \($0): \(reason)" } ?? reason }
}

/// The members of an export's lines that a replay reads.
struct ExportLine: Decodable, Sendable {
    enum Kind { case session, record, snapshot, other }

    struct Event: Decodable, Sendable {
        var name: String
        /// Nil for `null`.
        var data: JSONValue?
    }

    var session: String?
    var reactor: String?
    var owner: String?
    var input: JSONValue?
    var keptVersion: UInt64?
    var record: UInt64?
    /// The part of a note; nil for a record.
    var part: UInt32?
    var kind: String?
    var version: UInt64?
    var action: UInt64?
    var lastAction: UInt64?
    var content: JSONValue?
    var contentText: String?
    var events: [Event]?
    var state: JSONValue?
    var stateVersion: Int?

    /// The kind of a line by its first member; nil for a line of another form.
    static func kind(of text: Substring.UTF8View) -> Kind? {
        guard text.starts(with: #"{""#.utf8) else { return nil }
        switch String(Substring(text.dropFirst(2).prefix { $0 != 0x22 })) {
        case "session": return .session
        case "record": return .record
        case "snapshot": return .snapshot
        case "journal", "answer", "running", "timer", "tombstone", "end": return .other
        default: return nil
        }
    }

    /// Whether a line of another kind comes after all sessions.
    static func endsSession(_ text: Substring.UTF8View) -> Bool {
        text.starts(with: #"{"tombstone""#.utf8) || text.starts(with: #"{"end""#.utf8)
    }

    init(_ text: Substring.UTF8View, _ number: Int) throws(ReplayFault) {
        do {
            self = try JSON.decode(ExportLine.self, stored: Array(text))
        } catch {
            throw ReplayFault(
                line: number, reason: "it is not a line of an export: \(error.sentence)")
        }
    }
}
