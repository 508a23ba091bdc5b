internal import Feeds
internal import JSONCoding
internal import Sessions
internal import Storage
internal import Wire

/// The sessions of a followed list at one moment, and the events that lead to it.
final class ListPage: Sendable {
    struct Line: Sendable {
        let id: String
        /// The session has changed if this or the tags differ.
        let generation: String
        let tags: SessionTags?
        /// The session as in a page, without the line break.
        let json: [UInt8]

        init(_ head: SavedHead) {
            self.init(head.key.generation, head.tags, SessionDescription(head, nil))
        }

        init(_ session: Session) {
            self.init(session.generation.text, session.tags, SessionDescription(session))
        }

        private init(
            _ generation: String, _ tags: SessionTags?, _ description: SessionDescription
        ) {
            id = description.id
            (self.generation, self.tags) = (generation, tags)
            json = Array(LineSeparators.escaped(JSON.line(description).dropLast()))
        }

        func isSame(as other: Line) -> Bool { generation == other.generation && tags == other.tags }
    }

    /// The newest change first.
    let lines: [Line]
    /// Whether there are more sessions than the list shows.
    private let areMore: Bool

    init(_ lines: [Line], areMore: Bool) {
        (self.lines, self.areMore) = (lines, areMore)
    }

    /// The first event of a stream.
    var snapshot: [UInt8] {
        var out = Array("event: snapshot\ndata: {\"sessions\":[".utf8)
        for (index, line) in lines.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            out.append(contentsOf: line.json)
        }
        out.append(contentsOf: "],\"more\":\(areMore)}\n\n".utf8)
        return out
    }

    /// The events after an earlier page: first the sessions that have left, then those that have
    /// entered or changed, in the order of their changes.
    func changes(since earlier: ListPage) -> [UInt8] {
        var out: [UInt8] = []
        let present = Set(lines.map(\.id))
        for line in earlier.lines where !present.contains(line.id) {
            Self.append("left", line, to: &out)
        }
        let before = Dictionary(earlier.lines.map { ($0.id, $0) }) { first, _ in first }
        for line in lines.reversed() {
            guard let old = before[line.id] else {
                Self.append("entered", line, to: &out)
                continue
            }
            if !old.isSame(as: line) { Self.append("changed", line, to: &out) }
        }
        return out
    }

    private static func append(_ event: String, _ line: Line, to out: inout [UInt8]) {
        out.append(contentsOf: "event: \(event)\ndata: ".utf8)
        out.append(contentsOf: line.json)
        out.append(contentsOf: "\n\n".utf8)
    }
}
