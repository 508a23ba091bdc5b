/// Encodes the part of Server-Sent Events that is the same in every stream (HTML standard §9.2.5).
package enum EventEncoder {
    /// Appends the time for which a reader waits before it reconnects.
    ///
    /// It applies as soon as it is read (HTML §9.2.6), regardless of the rest of its block.
    package static func appendRetry(milliseconds: Int, to out: inout [UInt8]) {
        out.append(contentsOf: "retry: ".utf8)
        Decimal.append(UInt64(max(milliseconds, 0)), to: &out)
        out.append(0x0a)
    }
}
