// The readers use spans of bytes, but a socket's buffer is a raw span. The initialiser is the
// library's own conversion between them, checked and without a copy; its underscore means that it
// may be renamed, and this is the only place that uses it.

extension RequestReader {
    /// The same as `next` for raw bytes.
    package mutating func next(
        _ input: RawSpan, at offset: inout Int, head: inout RequestHead, body: inout [UInt8],
        repeated: inout RepeatedHead
    ) throws(RequestRefusal) -> Progress {
        try next(
            Span<UInt8>(_bytes: input), at: &offset, head: &head, body: &body,
            repeated: &repeated)
    }
}

extension [UInt8] {
    /// Appends all bytes of the raw span: one copy.
    @inline(__always)
    package mutating func append(copying bytes: RawSpan) {
        append(copying: Span<UInt8>(_bytes: bytes))
    }
}
