package import JSONCoding

/// The body of a request to post actions, with what can be found without its session: on any
/// thread, before it is posted.
package struct ActionBody: Sendable {
    package let json: JSONBody
    /// The digest by which a repetition is recognised. Nil if it is determined when it is needed.
    let digest: [UInt8]?

    /// A body that is examined when it is posted.
    package init(_ bytes: [UInt8]) {
        json = JSONBody(bytes)
        digest = nil
    }

    /// Examines the body now.
    ///
    /// - Parameters:
    ///   - hasKey: Whether its request has an `Idempotency-Key`.
    ///   - pauses: What the examination does now and then, on this thread.
    package init(examining bytes: [UInt8], hasKey: Bool, pauses: JSONPauses = .none) {
        json = JSONBody(scanning: bytes, pauses: pauses)
        digest = hasKey ? Digest.of(bytes) : nil
    }

    package var bytes: [UInt8] { json.bytes }

    /// Whether it is an empty array. With a key, an empty array asks for the answer to that key: so
    /// a client that cannot send its body again learns whether the body was applied.
    var asksForAnswer: Bool {
        bytes.lazy.filter { ![0x20, 0x0a, 0x0d, 0x09].contains($0) }.prefix(3)
            .elementsEqual("[]".utf8)
    }

    /// The bytes of memory that the examined body takes besides ``bytes``.
    package var scanBytes: Int { json.scanBytes }
}
