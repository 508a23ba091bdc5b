/// The items of a query, decoded: `name=value` pairs between `&`, `+` as a space (URL standard,
/// application/x-www-form-urlencoded parsing).
///
/// An item without `=` has an empty value; empty items (`a&&b`) are skipped. Malformed escapes,
/// text that is not UTF-8, and items beyond the limit are refused.
package struct QueryItems: Sequence, Sendable {
    package typealias Element = (name: String, value: String)

    private let items: [(name: String, value: String)]

    /// Reads all items.
    ///
    /// - Parameter limit: The number of items after which the query is refused. Default 100.
    package init(
        _ bytes: [UInt8], _ query: Range<Int>?, limit: Int = 100
    ) throws(RequestRefusal) {
        guard let query, !query.isEmpty else {
            items = []
            return
        }
        let span = bytes.span
        var read: [(name: String, value: String)] = []
        var start = query.lowerBound
        while start <= query.upperBound {
            let end = span.first(0x26, in: start..<query.upperBound) ?? query.upperBound
            if end > start {
                guard read.count < limit else { throw .tooManyItems(limit: limit) }
                let equals = span.first(0x3d, in: start..<end) ?? end
                let name = try PercentEncoding.decoded(
                    bytes, start..<equals, ofItem: read.count + 1)
                let value = try PercentEncoding.decoded(
                    bytes, Swift.min(equals + 1, end)..<end, ofItem: read.count + 1)
                read.append((name, value))
            }
            start = end + 1
        }
        items = read
    }

    package init(_ head: RequestHead, limit: Int = 100) throws(RequestRefusal) {
        try self.init(head.bytes, head.query, limit: limit)
    }

    package var count: Int { items.count }

    package func first(_ name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    package func values(_ name: String) -> [String] {
        items.filter { $0.name == name }.map(\.value)
    }

    package func makeIterator() -> IndexingIterator<[(name: String, value: String)]> {
        items.makeIterator()
    }
}
