/// A type that is a scalar in JSON. The container protocols of `Codable` have a separate
/// requirement for each of these types.
///
/// Design: one generic method satisfies the requirement for all of these types. It is inlined where
/// the type is known, so reading a number needs no look-up of its type. For `Int128`, `UInt128` and
/// fields that may be missing, Swift prefers the standard library's default implementations to a
/// generic method (seen on 6.3.1). So each of these requirements has a concrete method.
protocol JSONScalar: Codable {
    static func read(_ document: JSONDocument, at node: Int) throws -> Self
    func write(to output: inout JSONOutput) throws
}

extension Bool: JSONScalar {
    static func read(_ document: JSONDocument, at node: Int) throws -> Bool {
        try document.bool(at: node)
    }
    func write(to output: inout JSONOutput) { output.append(self) }
}

extension String: JSONScalar {
    static func read(_ document: JSONDocument, at node: Int) throws -> String {
        try document.string(at: node)
    }
    func write(to output: inout JSONOutput) { output.append(self) }
}

extension Double: JSONScalar {
    static func read(_ document: JSONDocument, at node: Int) throws -> Double {
        try document.double(at: node)
    }
    func write(to output: inout JSONOutput) throws { try output.append(self) }
}

extension Float: JSONScalar {
    static func read(_ document: JSONDocument, at node: Int) throws -> Float {
        try document.float(at: node)
    }
    func write(to output: inout JSONOutput) throws { try output.append(self) }
}

extension JSONScalar where Self: FixedWidthInteger {
    @inline(__always)
    static func read(_ document: JSONDocument, at node: Int) throws -> Self {
        try document.integer(Self.self, at: node)
    }
    @inline(__always)
    func write(to output: inout JSONOutput) { output.append(self) }
}

extension Int: JSONScalar {}
extension Int8: JSONScalar {}
extension Int16: JSONScalar {}
extension Int32: JSONScalar {}
extension Int64: JSONScalar {}
extension Int128: JSONScalar {}
extension UInt: JSONScalar {}
extension UInt8: JSONScalar {}
extension UInt16: JSONScalar {}
extension UInt32: JSONScalar {}
extension UInt64: JSONScalar {}
extension UInt128: JSONScalar {}
