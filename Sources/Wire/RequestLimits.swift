/// The size limits beyond which a request is refused.
///
/// Precedent: common servers accept 8 KiB for a request line and 100 fields; RFC 9110 §4.1
/// recommends at least 8000 octets of target.
package struct RequestLimits: Sendable, Equatable {
    /// Bytes of a whole head, request line, fields and the empty line. Default 16 384; more: 431
    /// (414 while the request line itself does not end).
    package var headBytes = 16_384
    /// Bytes of the request target. Default 8 192; more: 414.
    package var targetBytes = 8_192
    /// Field lines in a head. Default 100; more: 431.
    package var fieldCount = 100
    /// Bytes of a body, without its chunk framing. Default 1 048 576; more: 413, before the body is
    /// read if its length is declared.
    package var bodyBytes = 1_048_576
    /// Bytes of all chunk extensions of one body. Default 4 096; more: 400. RFC 9112 §7.1.1.
    package var chunkExtensionBytes = 4_096
    /// Bytes of the trailer section, which is read and dropped. Default 8 192; more: 431.
    package var trailerBytes = 8_192

    package init() {}
}
