internal import JSONCoding

/// A tag of a session. Lists find the session by it.
package struct SessionTag: Sendable, Hashable {
    package var name: ExactText
    package var value: ExactText

    package init(_ name: String, _ value: String) {
        self.name = ExactText(name)
        self.value = ExactText(value)
    }

    /// The name of the row that each session with tags has: empty. Its value is the reactor's name,
    /// so that a reactor is a condition like any other. The name of a tag has at least one byte.
    package static func reactor(_ name: String) -> SessionTag { SessionTag("", name) }

    /// The maximum number of bytes of a name, and of a value.
    package static let nameLimit = 32
    package static let valueLimit = 64

    /// A sentence that says why no session can have this tag; nil if one can.
    package var fault: String? {
        let name = name.text.utf8
        if name.isEmpty || name.count > Self.nameLimit || !name.allSatisfy(Self.isInName) {
            return "a tag's name has 1 to \(Self.nameLimit) of a-z 0-9 _"
        }
        let value = value.text.utf8
        if value.isEmpty || value.count > Self.valueLimit
            || !value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
        {
            return "a tag's value has 1 to \(Self.valueLimit) bytes without control characters"
        }
        return nil
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// The tags of a session. A session whose reactor declares tags may have none.
package struct SessionTags: Sendable, Equatable {
    /// Sorted by their names.
    package let all: [SessionTag]
    /// When they were last changed, in milliseconds since 1970 (UTC).
    package var changed: Int64

    package init(_ all: [SessionTag] = [], changed: Int64 = 0) {
        self.all = all.sorted {
            $0.name.text.utf8.lexicographicallyPrecedes($1.name.text.utf8)
        }
        self.changed = changed
    }

    /// The maximum number of tags of a session.
    package static let countLimit = 8

    /// A sentence that says why no session can have these tags; nil if one can.
    package var fault: String? {
        if all.count > Self.countLimit { return "it has more than \(Self.countLimit) tags" }
        if Set(all.map(\.name)).count < all.count { return "two of its tags have one name" }
        if !(0...SessionTimer.dueLimit).contains(changed) {
            return "its tags were changed at \(changed), which is not a valid time"
        }
        return all.compactMap(\.fault).first
    }

    package func contain(_ tags: [SessionTag]) -> Bool { tags.allSatisfy(all.contains) }
}

/// New tags of a session, in the commit that changes them. They replace all earlier ones.
package struct TagChange: Sendable, Equatable {
    package var session: String
    package var generation: String
    package var reactor: String
    package var tags: SessionTags

    package init(of key: SessionKey, _ reactor: String, _ tags: SessionTags) {
        (session, generation) = (key.session, key.generation)
        self.reactor = reactor
        self.tags = tags
    }

    /// The rows of the session, in the order of their names.
    package var rows: [SessionTag] { [.reactor(reactor)] + tags.all }

    /// An estimate of the size in memory.
    package var bytes: Int { 64 * rows.count }
}

/// The sessions that have all of some tags, in the order in which their tags were last changed, the
/// newest first.
package struct TagSelection: Sendable, Hashable {
    /// If it is empty, there is a reactor. The sessions with the first of these tags are examined,
    /// so a rare one should come first.
    package var tags: [SessionTag]
    package var reactor: String?
    /// Only ids that begin with this text.
    package var prefix: String
    /// Only sessions after this place; nil: from the newest.
    package var after: TagPosition?
    /// The most sessions of a page.
    package var limit: Int

    package init(
        _ tags: [SessionTag], reactor: String? = nil, prefix: String = "",
        after: TagPosition? = nil,
        limit: Int
    ) {
        self.tags = tags
        self.reactor = reactor
        self.prefix = prefix
        self.after = after
        self.limit = limit
    }

    /// The condition whose index is read.
    package var first: SessionTag { tags.first ?? .reactor(reactor ?? "") }

    package func contains(_ id: String, of reactor: String, _ tags: SessionTags) -> Bool {
        id.utf8.starts(with: prefix.utf8) && tags.contain(self.tags)
            && self.reactor.map { $0.utf8.elementsEqual(reactor.utf8) } ?? true
    }
}

/// A place in the order in which the tags of sessions were changed.
package struct TagPosition: Sendable, Hashable, Comparable {
    /// Where the newest page begins: after every session.
    package static let end = TagPosition(changed: .max, row: .max)

    package var changed: Int64
    /// Orders sessions whose tags changed in the same millisecond.
    package var row: Int64

    package init(changed: Int64, row: Int64) {
        self.changed = changed
        self.row = row
    }

    package static func < (one: TagPosition, other: TagPosition) -> Bool {
        (one.changed, one.row) < (other.changed, other.row)
    }
}

/// A page of a selection, the newest first.
package struct TaggedPage: Sendable, Equatable {
    /// The most sessions that are examined for a page. If it has fewer than its limit and ``next``
    /// is set, the client continues there.
    package static let examined = 1_000

    /// The sessions, with their tags.
    package var heads: [SavedHead] = []
    /// The place after which the next page begins; nil if there is none.
    package var next: TagPosition?

    package init() {}
}

extension SessionTags {
    /// `{"<name>":"<value>",…}`
    package var json: [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "{")]
        for tag in all {
            if out.count > 1 { out.append(UInt8(ascii: ",")) }
            JSON.appendString(tag.name.text, to: &out)
            out.append(UInt8(ascii: ":"))
            JSON.appendString(tag.value.text, to: &out)
        }
        out.append(UInt8(ascii: "}"))
        return out
    }
}
