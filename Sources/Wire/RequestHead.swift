/// The head of one request: a copy of its bytes, and the ranges of its parts.
///
/// Design: it owns its bytes, so that it outlives the read buffer; everything else is offsets, so
/// that parsing makes no strings. One value is reused: `reset()` keeps its allocations.
package struct RequestHead: Sendable {
    /// The head as it was sent, up to the empty line. The ranges below refer to it.
    package internal(set) var bytes: [UInt8] = []
    package internal(set) var body = BodyLength.none
    /// Whether the connection can carry another request after this one (RFC 9112 §9.3).
    package internal(set) var keepsAlive = false
    /// Whether the peer waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    package internal(set) var expectsContinue = false
    /// Nil if it was parsed; else the number of the ``RepeatedHead`` that it equals.
    package internal(set) var repetition: UInt64?
    var line = RequestLine()
    var fields = FieldTable()

    package init() {}

    package var method: Method { line.method }

    package var methodRange: Range<Int> { line.methodRange }

    /// 0 or 1. A higher minor version is treated as 1 (RFC 9110 §2.5).
    package var minorVersion: Int { line.minorVersion }

    /// The path of the target, percent-encoded as sent, from its `/`; `*` with OPTIONS only. An
    /// absolute target is reduced to its path, `/` if it has none (RFC 9112 §3.2.2).
    package var path: Range<Int> { line.path }

    /// The query without its `?`; nil without a `?`, empty if nothing follows the `?`.
    package var query: Range<Int>? { line.query }

    /// Removes the request and keeps the memory.
    package mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
        line = RequestLine()
        fields.reset()
        body = .none
        keepsAlive = false
        expectsContinue = false
        repetition = nil
    }

    /// The value of the first field line with that name, white space trimmed; nil if there is none.
    package func range(of field: KnownField) -> Range<Int>? {
        fields.first(field)
    }

    /// The values of all field lines with that name.
    package func values(of field: KnownField) -> [Range<Int>] {
        guard fields.contains(field) else { return [] }
        return fields.entries.compactMap { $0.known == field ? $0.value : nil }
    }

    /// The names and values of all field lines, in their order.
    package var fieldLines: [(name: Range<Int>, value: Range<Int>)] {
        fields.entries.map { ($0.name, $0.value) }
    }

    /// The bytes of a range as text; bytes that are not UTF-8 become U+FFFD.
    package func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    /// The first value of a field as text, or nil.
    package func text(of field: KnownField) -> String? {
        range(of: field).map(text)
    }

    /// Whether a range is exactly this ASCII text.
    package func matches(_ range: Range<Int>, _ text: StaticString) -> Bool {
        bytes.span.equals(text, in: range, ignoringCase: false)
    }

    /// Whether a range is this text, ignoring the case of ASCII letters.
    package func matches(_ range: Range<Int>, ignoringCase lowercase: [UInt8]) -> Bool {
        guard range.count == lowercase.count else { return false }
        let (bytes, text) = (bytes.span, lowercase.span)
        for offset in text.indices {
            let byte = bytes[range.lowerBound + offset]
            let isUpper = byte >= 0x41 && byte <= 0x5a
            guard (isUpper ? byte | 0x20 : byte) == text[offset] else { return false }
        }
        return true
    }

    /// Whether a range is this ASCII text, ignoring case.
    package func matches(_ range: Range<Int>, ignoringCase lowercase: StaticString) -> Bool {
        bytes.span.equals(lowercase, in: range, ignoringCase: true)
    }
}

/// The length of a request's body (RFC 9112 §6.3).
package enum BodyLength: Sendable, Equatable {
    /// Neither Content-Length nor Transfer-Encoding: no body.
    case none
    /// Content-Length bytes, 0 or more.
    case sized(Int)
    case chunked
}
