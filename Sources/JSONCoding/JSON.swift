/// This project's JSON coder: Swift's `Codable`, RFC 8259, and enums as `{"type":…}`.
///
/// Why not Foundation's: it costs more than everything else that a POST does, and it can't write
/// a `TaggedCodable` enum. What a type's default wire form is, `JSONEncoder` with its default
/// strategies decides: a `Date` is its seconds since the reference date, `Data` is Base64, a `URL`
/// is a string, a `Decimal` a number. The exceptions: `/` is not escaped, object members stand
/// in the order in which they were encoded, and a `Set` or a `Dictionary` is sorted, so that equal
/// values have equal bytes.
package enum JSON {
    /// Decodes one JSON text with nothing but white space around it, as peers send it.
    ///
    /// Strict: UTF-8 must be well formed, surrogates paired. Containers may stand 128 deep. Two
    /// members of one name are malformed, anywhere in the text. Members that the type does not ask
    /// for are ignored, but must be JSON. A missing member of an optional decodes as `nil`.
    ///
    /// Memory: the values asked for and, while it runs, 28 bytes for each value in the text.
    ///
    /// - Throws: `malformed` if `bytes` are not JSON or nest too deep; `mismatch` if they are no `T`.
    ///
    /// Source: [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259).
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8]
    ) throws(JSONRefusal) -> T {
        try read(type, JSONDocument(bytes, refusesDoubles: true))
    }

    /// Decodes what this service has stored: as ``decode(_:from:)``, but of members with the same
    /// key the first counts.
    ///
    /// - Parameter fallback: makes the JSON that has what is missing: a member that the type can't
    ///   do without is taken from the object at the same place there, at every level of objects and
    ///   not inside arrays. Called at most once, and only where something is missing.
    package static func decode<T: Decodable>(
        _ type: T.Type, stored bytes: [UInt8], over fallback: (() -> [UInt8]?)? = nil
    ) throws(JSONRefusal) -> T {
        let document = try JSONDocument(bytes)
        document.fallback = fallback.map(JSONFallback.init)
        return try read(type, document)
    }

    private static func read<T: Decodable>(
        _ type: T.Type, _ document: JSONDocument
    ) throws(JSONRefusal) -> T {
        do {
            return try document.value(type, at: 0)
        } catch {
            throw document.refusal(for: error)
        }
    }

    /// Appends `value` as one line of JSON: no white space between tokens, no line break at all.
    ///
    /// Members stand in the order in which the value encodes them. Equal values give equal bytes
    /// if they encode alike: a `Set` and a `Dictionary` are sorted by their encoded bytes. A key
    /// that a type encodes twice stands there twice.
    ///
    /// - Throws: `JSONEncodingFailure` for numbers that are not finite, and whatever the value's
    ///   own `encode(to:)` throws or does wrong; then `out` is as it was.
    package static func encode<T: Encodable>(
        _ value: T, into out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        var space = JSONEncodingSpace()
        try encode(value, into: &out, with: &space)
    }

    /// The same with memory that was used before: it saves a tenth of what a small value costs.
    package static func encode<T: Encodable>(
        _ value: T, into out: inout [UInt8], with space: inout JSONEncodingSpace
    ) throws(JSONEncodingFailure) {
        if appendScalar(value, to: &out) { return }
        let writer = space.writer(appendingTo: out)
        // Invariant: one reference to the bytes while they grow, or every append would copy them.
        out = []
        defer { out = writer.takeBytes() }
        try writer.encodeRoot(value)
    }

    /// Appends `text` as a JSON string, in quotes and escaped.
    package static func appendString(_ text: String, to out: inout [UInt8]) {
        JSONText.append(text, to: &out)
    }

    /// Writes the plain values that most pulses have, without a writer: a third of the time.
    private static func appendScalar<T>(_ value: T, to out: inout [UInt8]) -> Bool {
        if let text = same(value, as: String?.self) {
            appendOptional(text, to: &out) { JSONText.append($0, to: &$1) }
        } else if let text = same(value, as: String.self) {
            JSONText.append(text, to: &out)
        } else if let number = same(value, as: Int.self) {
            JSONText.append(number, to: &out)
        } else if let number = same(value, as: Int?.self) {
            appendOptional(number, to: &out) { JSONText.append($0, to: &$1) }
        } else if let flag = same(value, as: Bool.self) {
            JSONText.append(flag, to: &out)
        } else {
            return false
        }
        return true
    }

    /// The value, if the types are the same.
    ///
    /// Why unsafe: `as?` looks both types up at run time, 400 instructions for each pulse that is
    /// assigned; after the comparison the two are one type.
    @inline(__always)
    private static func same<T, U>(_ value: T, as type: U.Type) -> U? {
        guard T.self == type else { return nil }
        return unsafe unsafeBitCast(value, to: type)
    }

    private static func appendOptional<Wrapped>(
        _ value: Wrapped?, to out: inout [UInt8], _ append: (Wrapped, inout [UInt8]) -> Void
    ) {
        if let value {
            append(value, &out)
        } else {
            out.append(contentsOf: "null".utf8)
        }
    }
}
