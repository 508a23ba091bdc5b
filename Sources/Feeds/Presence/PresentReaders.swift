internal import JSONCoding
package import Storage
internal import Wire

/// The readers of a session at one moment.
package struct PresentReaders: Sendable, Equatable {
    /// In the order of their bytes; nil if there are more than ``listLimit``.
    package let names: [ExactText]?
    /// The number of names.
    package let count: Int
    /// The number of streams without a name.
    package let others: Int

    /// With more names, readers see only their number. Why: each change goes to each reader, so the
    /// bytes grow with the square of the number.
    package static let listLimit = 100

    package init(_ names: some Collection<ExactText>, others: Int) {
        count = names.count
        self.others = others
        self.names =
            count > Self.listLimit
            ? nil
            : names.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    }

    /// More than ``listLimit`` names.
    package init(count: Int, others: Int) {
        (names, self.count, self.others) = (nil, count, others)
    }

    /// The readers at several nodes. A name counts once, unless a node has more than
    /// ``listLimit``: the names there are not known.
    init(_ nodes: [PresentReaders]) {
        let others = nodes.reduce(0) { $0 + $1.others }
        let names = Set(nodes.compactMap(\.names).joined())
        let counted = nodes.reduce(0) { $0 + ($1.names == nil ? $1.count : 0) }
        if counted == 0 {
            self.init(names, others: others)
        } else {
            self.init(count: names.count + counted, others: others)
        }
    }

    /// `{"present":["ada","grace"],"others":3}`, or `{"count":101,"others":3}`. 26 KiB at most.
    package var json: [UInt8] {
        var out: [UInt8] = []
        if let names {
            out += "{\"present\":[".utf8
            for (index, name) in names.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                JSON.appendString(name.text, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        } else {
            out += "{\"count\":\(count)".utf8
        }
        out += ",\"others\":\(others)}".utf8
        return out
    }
}

/// An event `presence`, framed.
///
/// Invariant: it has no id, because it is not part of the history. It is never in a
/// ``SharedStream``, whose bytes a reader may get again.
package struct PresenceEvent: Sendable {
    /// The newest change that the event shows.
    let change: UInt64
    let plain: [UInt8]
    /// The event as one chunk.
    let chunk: [UInt8]

    init(_ present: PresentReaders, at change: UInt64) {
        self.change = change
        plain =
            Array("event: presence\ndata: ".utf8) + LineSeparators.escaped(present.json[...])
            + EventFramer.blankLine
        var chunk = plain
        ChunkEncoder.wrap(from: 0, in: &chunk)
        self.chunk = chunk
    }
}
