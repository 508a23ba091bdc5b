/// The items of a query, decoded: `name=value` pairs between `&`, `+` as a space (URL standard,
/// application/x-www-form-urlencoded parsing).
///
/// An item without `=` has an empty value; empty items (`a&&b`) are skipped. Malformed escapes,
/// text that is not UTF-8, and items beyond the limit are refused.
package struct QueryItems: Sendable {
    let items: [(name: String, value: String)]

    /// Reads all items.
    ///
    /// - Parameter limit: The number of items after which the query is refused. Default 100.
    package init(
        _ bytes: [UInt8], _ query: Range<Int>?, limit: Int = 100
    ) throws(RequestRefusal) {
        var read: [(name: String, value: String)] = []
        for item in bytes[query ?? 0..<0].split(separator: 0x26) {
            guard read.count < limit else { throw .tooManyItems(limit: limit) }
            let equals = item.firstIndex(of: 0x3d) ?? item.endIndex
            let name = try PercentEncoding.decoded(
                bytes, item.startIndex..<equals, ofItem: read.count + 1)
            let value = try PercentEncoding.decoded(
                bytes, min(equals + 1, item.endIndex)..<item.endIndex,
                ofItem: read.count + 1)
            read.append((name, value))
        }
        items = read
    }

    package init(_ head: RequestHead, limit: Int = 100) throws(RequestRefusal) {
        try self.init(head.bytes, head.query, limit: limit)
    }

    package func first(_ name: String) -> String? {
        items.first { $0.name == name }?.value
    }

    package func values(_ name: String) -> [String] {
        items.filter { $0.name == name }.map(\.value)
    }
}
