/// Encodes bodies of unknown length: the chunked transfer coding (RFC 9112 §7.1).
///
/// Design: functions that append to the caller's bytes, as in `EventEncoder`. The size precedes the
/// content, so content for many readers is framed once, in the shared copy.
package enum ChunkEncoder {
    /// The end of the body: a chunk of no bytes, and no trailer fields (RFC 9112 §7.1).
    package static let last: [UInt8] = Array("0\r\n\r\n".utf8)

    /// Appends the line before the content of a chunk.
    ///
    /// - Parameter count: The bytes of content, at least 1: a chunk of 0 bytes would end the body.
    package static func appendSize(_ count: Int, to out: inout [UInt8]) {
        var shift = (Int.bitWidth - 1 - count.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count &>> shift) & 0x0f
            out.append(digit &+ (digit < 10 ? 0x30 : 0x57))
            shift -= 4
        }
        appendEnd(to: &out)
    }

    package static func appendEnd(to out: inout [UInt8]) {
        out.append(0x0d)
        out.append(0x0a)
    }

    /// Makes one chunk of the bytes of `out` from `start` on; without such bytes it has no effect.
    ///
    /// It moves the content by the few bytes of its size. If the size is known before the content
    /// is written, `appendSize` costs less.
    package static func wrap(from start: Int, in out: inout [UInt8]) {
        guard start < out.count else { return }
        var size: [UInt8] = []
        appendSize(out.count - start, to: &size)
        out.insert(contentsOf: size, at: start)
        appendEnd(to: &out)
    }
}
