/// Finds the lines of a head as its bytes arrive.
///
/// Design: it stores how far it has searched, so that each byte of a head is examined once, even if
/// bytes arrive singly. RFC 9112 §2.2 allows a bare LF as a line's end; here it is refused, because
/// two parties that disagree about the end of a line can be made to disagree about the end of a
/// request.
struct HeadLines: Sendable {
    private(set) var lineStart = 0
    /// Invariant: no LF in `lineStart..<scanned`.
    private var scanned = 0
    private(set) var count = 0

    /// Returns the next complete line, without its CR LF; nil if there is none yet.
    @inline(__always)
    mutating func next(in bytes: Span<UInt8>) throws(RequestRefusal) -> Range<Int>? {
        guard let feed = bytes.first(0x0a, in: scanned..<bytes.count) else {
            scanned = bytes.count
            return nil
        }
        guard feed > lineStart, bytes[feed - 1] == 0x0d else {
            throw .field(.bareLineFeed, line: count)
        }
        let line = lineStart..<(feed - 1)
        lineStart = feed + 1
        scanned = lineStart
        count += 1
        return line
    }
}
