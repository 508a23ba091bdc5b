/// Finds the lines of a head as its bytes arrive.
///
/// Design: it remembers how far it has looked, so that a head fed byte by byte is looked at once.
/// RFC 9112 §2.2 allows a bare LF as a line's end; here it is refused, because two parties that
/// disagree about where a line ends can be made to disagree about where a request ends.
struct HeadLines: Sendable {
    /// Where the line that is not complete begins.
    private(set) var lineStart = 0
    /// Invariant: no LF in `lineStart..<scanned`.
    private var scanned = 0
    /// How many lines were taken.
    private(set) var count = 0

    /// Takes the next complete line, without its CR LF; nil when there is none yet.
    @inline(__always)
    mutating func next(in bytes: Span<UInt8>) throws(FieldFault) -> Range<Int>? {
        guard let feed = bytes.first(0x0a, in: scanned..<bytes.count) else {
            scanned = bytes.count
            return nil
        }
        guard feed > lineStart, bytes[feed - 1] == 0x0d else {
            throw FieldFault(kind: .bareLineFeed, location: FieldLocation(line: count))
        }
        let line = lineStart..<(feed - 1)
        lineStart = feed + 1
        scanned = lineStart
        count += 1
        return line
    }
}
