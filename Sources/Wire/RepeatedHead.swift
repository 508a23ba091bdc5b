/// The last request's head on a connection, for a client that repeats it.
///
/// Why: parsing a head takes 4 000 instructions, a tenth of a POST, and a client mostly sends the
/// same head again on its connection. Equal bytes have equal meaning, so they are not parsed.
///
/// A head is kept once it came twice in a row: varying requests use no memory for it.
package struct RepeatedHead {
    private final class Kept: Sendable {
        let head: RequestHead

        init(_ head: RequestHead) { self.head = head }
    }

    /// Bounds the memory of an idle connection.
    package static let limitBytes = 1_024

    private var kept: Kept?
    /// The heads kept so far. Never reset: a request that waits may have an earlier number.
    private var keptCount: UInt64 = 0
    /// The hash of the last parsed head; 0 for none. A collision keeps a head without use.
    private var hash: UInt64 = 0

    package init() {}

    /// The kept head, if the input repeats it at `offset`.
    ///
    /// A head ends with the first empty line, so no longer head begins with the same bytes.
    package func match(_ input: Span<UInt8>, at offset: Int) -> RequestHead? {
        guard let kept else { return nil }
        let bytes = kept.head.bytes
        return bytes.span.isPrefix(of: input, at: offset) ? kept.head : nil
    }

    /// Records a head that was parsed, and keeps it if the previous one was the same.
    package mutating func record(_ head: borrowing RequestHead) {
        let last = hash
        hash = head.bytes.count <= Self.limitBytes ? Self.hash(head.bytes.span) : 0
        guard hash == last, hash != 0 else { return }
        keptCount &+= 1
        var repeated = copy head
        repeated.repetition = keptCount
        kept = Kept(repeated)
    }

    package mutating func forget() {
        kept = nil
        hash = 0
    }

    private static func hash(_ bytes: Span<UInt8>) -> UInt64 {
        guard bytes.count >= 8 else { return 0 }
        var hash = UInt64(truncatingIfNeeded: bytes.count)
        var index = 0
        while index &+ 8 < bytes.count {
            hash = (hash ^ bytes.word(at: index)) &* 0x9e37_79b9_7f4a_7c15
            index &+= 8
        }
        return (hash ^ bytes.word(at: bytes.count &- 8)) &* 0x9e37_79b9_7f4a_7c15
    }
}

extension Span<UInt8> {
    /// Whether `input` contains all of these bytes at `offset`.
    fileprivate func isPrefix(of input: Span<UInt8>, at offset: Int) -> Bool {
        guard input.count &- offset >= count else { return false }
        var index = 0
        while index &+ 8 <= count {
            guard word(at: index) == input.word(at: offset &+ index) else { return false }
            index &+= 8
        }
        return word(at: index, count: count &- index)
            == input.word(at: offset &+ index, count: count &- index)
    }
}
