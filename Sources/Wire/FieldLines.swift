/// Encoded field lines of a response: constant lines are encoded once and appended unchanged.
///
/// Design: names are the service's own, and only values may contain a peer's bytes. So an invalid
/// name traps, while a CR, LF or NUL in a value becomes a space, as RFC 9110 §5.5 permits: a peer
/// must neither stop the process nor write the next field itself.
package struct FieldLines: Sendable, Equatable {
    package private(set) var bytes: [UInt8] = []

    /// - Parameter fields: Each name is a token (RFC 9110 §5.6.2); anything else traps.
    package init(_ fields: [(String, String)]) {
        for (name, value) in fields { Self.append(name, value.utf8, to: &bytes) }
    }

    static func append(_ name: String, _ value: some Collection<UInt8>, to out: inout [UInt8]) {
        let start = out.count
        out.append(contentsOf: name.utf8)
        precondition(
            out.count > start && out[start...].allSatisfy(ByteClass.token.contains),
            "A field name is a token.")
        out.append(0x3a)
        out.append(0x20)
        let valueStart = out.count
        out.append(contentsOf: value)
        for index in valueStart..<out.count where !ByteClass.isFieldValue(out[index]) {
            out[index] = 0x20
        }
        out.append(0x0d)
        out.append(0x0a)
    }
}
