/// This project's JSON coder: Swift's `Codable`, RFC 8259, and enums as `{"type":…}`.
///
/// Why not Foundation's: it costs more than the rest of a POST, and it cannot write a
/// `TaggedCodable` enum. The default wire form of a type is that of `JSONEncoder` with its default
/// strategies: a `Date` is its seconds since the reference date, `Data` is Base64, a `URL` is a
/// string, a `Decimal` a number. The exceptions: `/` is not escaped, object members keep the order
/// in which they were encoded, and a `Set` or a `Dictionary` is sorted, so that equal values have
/// equal bytes.
package enum JSON {
    /// Decodes one JSON text from a peer; only white space may surround it.
    ///
    /// Strict: UTF-8 must be well formed, surrogates paired. Containers may nest 128 deep. Two
    /// members with one name are malformed, anywhere in the text. Members that the type does not
    /// request are ignored, but must be JSON. A missing member of an optional decodes as `nil`.
    ///
    /// Memory: the requested values and, during the call, 28 bytes for each value in the text.
    ///
    /// - Throws: `malformed` if `bytes` are no JSON or nest too deep; `mismatch` if no `T`.
    ///
    /// Source: [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259).
    package static func decode<T: Decodable>(
        _ type: T.Type, from bytes: [UInt8]
    ) throws(JSONRefusal) -> T {
        try read(type, JSONDocument(bytes, refusesDoubles: true))
    }

    /// As ``decode(_:from:)``, for JSON of this service: of two equal keys the first counts.
    ///
    /// - Parameter fallback: Makes the JSON with defaults: a member that is required and missing is
    ///   read from the object at the same path there, at every level of objects, but not inside
    ///   arrays. Called at most once, and only if a member is missing.
    package static func decode<T: Decodable>(
        _ type: T.Type, stored bytes: [UInt8], over fallback: (() -> [UInt8]?)? = nil
    ) throws(JSONRefusal) -> T {
        let document = try JSONDocument(bytes)
        document.fallback = fallback.map(JSONFallback.init)
        return try read(type, document)
    }

    static func read<T: Decodable>(
        _ type: T.Type, _ document: JSONDocument
    ) throws(JSONRefusal) -> T {
        do {
            return try document.value(type, at: 0)
        } catch {
            throw document.refusal(for: error)
        }
    }

    /// Appends `value` as one line of JSON: without white space between tokens or line breaks.
    ///
    /// Members keep the order in which the value encodes them. Equal values give equal bytes if
    /// they encode alike: a `Set` and a `Dictionary` are sorted by their encoded bytes. A key that
    /// a type encodes twice is written twice. Throws `JSONEncodingFailure` for numbers that are not
    /// finite, and for errors and misuse in the value's own `encode(to:)`; `out` is then unchanged.
    package static func encode<T: Encodable>(
        _ value: T, into out: inout [UInt8]
    ) throws(JSONEncodingFailure) {
        var space = JSONEncodingSpace()
        try encode(value, into: &out, with: &space)
    }

    /// The same with reused buffers: this saves a tenth of the cost of a small value.
    package static func encode<T: Encodable>(
        _ value: T, into out: inout [UInt8], with space: inout JSONEncodingSpace
    ) throws(JSONEncodingFailure) {
        if appendScalar(value, to: &out) { return }
        let writer = space.writer(appendingTo: out)
        // Invariant: one reference to the bytes while they grow; else each append copies them.
        out = []
        defer { out = writer.takeBytes() }
        try writer.encodeRoot(value)
    }

    package static func appendString(_ text: String, to out: inout [UInt8]) {
        JSONText.append(text, to: &out)
    }

    /// Writes the simple values that most pulses have without a writer, in a third of the time.
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

    /// The value as a `U`, if both types are the same.
    ///
    /// Why unsafe: `as?` looks both types up at run time, 400 instructions for each assigned pulse;
    /// the comparison before has proved that the types are the same.
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
