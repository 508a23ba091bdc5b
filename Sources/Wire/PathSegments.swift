/// The segments of a path, as ranges of the bytes it lies in: `/v1/sessions` has `v1` and
/// `sessions`, `/v1/` has `v1` and an empty one, `/` has an empty one (RFC 3986 §3.3).
///
/// Segments are as sent: a router compares their bytes, and undoes escapes only in the segment
/// that is a value; so an escaped slash never becomes a separator, and `.` and `..` are names
/// like any other.
package struct PathSegments: Sequence, IteratorProtocol, Sendable {
    private let bytes: [UInt8]
    private var start: Int
    private let end: Int

    /// - Parameter path: begins with `/`; anything else, such as `*`, has no segments.
    package init(_ bytes: [UInt8], _ path: Range<Int>) {
        self.bytes = bytes
        end = path.upperBound
        let absolute = path.first.map { bytes[$0] == 0x2f } ?? false
        start = absolute ? path.lowerBound + 1 : path.upperBound + 1
    }

    /// The segments of a request's path.
    package init(_ head: RequestHead) {
        self.init(head.bytes, head.path)
    }

    package mutating func next() -> Range<Int>? {
        guard start <= end else { return nil }
        let slash = bytes.span.first(0x2f, in: start..<end) ?? end
        defer { start = slash + 1 }
        return start..<slash
    }
}
