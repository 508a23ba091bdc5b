// W3C Trace Context §3.2 (the field) and §4 (fields of a later version).

/// A request's `traceparent`, as it is stored with records, logged and returned.
///
/// Invariant: exactly 55 bytes, `00-<32 hex>-<16 hex>-<2 hex>` in lower case; no id is all zero.
struct TraceParent: Equatable, Sendable {
    let text: String

    private static let length = 55

    /// The id of the whole trace: 32 hexadecimal digits.
    var traceID: Substring { text.dropFirst(3).prefix(32) }

    /// Nil if the field is malformed: it is then ignored, as §3.2 requires.
    ///
    /// A field of version 00 is kept unchanged. For a later version, the members that version 00
    /// defines are kept, written as version 00 with the one flag that it defines (§4); further
    /// members have an unknown meaning and any length.
    init?(_ field: String) {
        var bytes = field.utf8.prefix(Self.length + 1)[...]
        let follower = bytes.count > Self.length ? bytes.removeLast() : nil
        guard bytes.count == Self.length else { return nil }
        let members = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard members.map(\.count) == [2, 32, 16, 2],
            members.allSatisfy({ $0.allSatisfy(Self.isLowerCaseHex) }),
            !members[0].elementsEqual("ff".utf8),
            !Self.isZero(members[1]), !Self.isZero(members[2])
        else { return nil }
        if members[0].elementsEqual("00".utf8) {
            guard follower == nil else { return nil }
            text = field
        } else {
            guard follower == nil || follower == UInt8(ascii: "-") else { return nil }
            let flags = UInt8(String(decoding: members[3], as: UTF8.self), radix: 16) ?? 0
            let ids = members[1...2].map { String(decoding: $0, as: UTF8.self) }
            text = "00-\(ids.joined(separator: "-"))-\(flags & 1 == 1 ? "01" : "00")"
        }
    }

    private static func isLowerCaseHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func isZero(_ member: some Sequence<UInt8>) -> Bool {
        member.allSatisfy { $0 == UInt8(ascii: "0") }
    }
}
