internal import Feeds
internal import Storage
internal import Wire

/// The sessions that a list shows, and their order.
enum ListQuery {
    /// In the order of their ids.
    case all(SessionRange)
    /// The newest change of tags first.
    case tagged(TagSelection)

    /// The most `tag` parameters of a request: as many as a session can have.
    static let tagLimit = SessionTags.countLimit

    var reactor: String? {
        switch self {
        case .all(let range): range.reactor
        case .tagged(let selection): selection.reactor
        }
    }

    init(_ items: QueryItems) throws(Problem) {
        let (limit, prefix) = (try items.pageLimit(), try Self.prefix(items))
        let (tags, reactor, after) = (
            try Self.tags(items), items.first("reactor"), items.first("after")
        )
        let sort = try items.word("sort", of: ["id", "changed"])
        guard sort == "changed" || !tags.isEmpty else {
            self = .all(
                SessionRange(after: after, prefix: prefix, reactor: reactor, limit: limit))
            return
        }
        guard sort != "id" else {
            throw .badParameter("sort", "id", "with tag, the only order is sort=changed")
        }
        guard !tags.isEmpty || reactor != nil else {
            throw .badParameter("sort", "changed", "name a tag or a reactor, too")
        }
        var selection = TagSelection(tags, reactor: reactor, prefix: prefix, limit: limit)
        if let after {
            guard let place = TagPosition(text: after) else {
                throw .badParameter("after", after, "send the next of a page in this order")
            }
            selection.after = place
        }
        self = .tagged(selection)
    }

    private static func tags(_ items: QueryItems) throws(Problem) -> [SessionTag] {
        let texts = items.values("tag")
        guard texts.count <= tagLimit else {
            throw Problem(
                400, "bad_tag", "tag occurs \(texts.count) times; the limit is \(tagLimit)")
        }
        var tags: [SessionTag] = []
        for text in texts {
            // By bytes: a combining mark after the colon is a part of the value.
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                throw .badParameter("tag", text, "send a name, a colon and a value")
            }
            let value = text.utf8[colon...].dropFirst()
            let tag = SessionTag(String(text[..<colon]), String(Substring(value)))
            if let fault = tag.fault { throw .badParameter("tag", text, fault) }
            tags.append(tag)
        }
        return tags
    }

    private static func prefix(_ items: QueryItems) throws(Problem) -> String {
        let prefix = items.first("prefix") ?? ""
        guard SessionID.canBegin(with: prefix) else {
            throw .badParameter(
                "prefix", prefix, "a session id has 1 to 128 characters of A-Z a-z 0-9 _ -")
        }
        return prefix
    }
}

extension TagPosition {
    /// `<changed>.<row>`, the `next` of a page.
    var text: String { "\(changed).\(row)" }

    init?(text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let changed = Int64(parts[0]), let row = Int64(parts[1]) else {
            return nil
        }
        self.init(changed: changed, row: row)
    }
}
