/// The JSON text of a request.
///
/// Scanning takes most of the time of reading and needs no type, so another thread can do it.
@usableFromInline
package struct JSONBody: Sendable {
    package let bytes: [UInt8]
    /// Nil until the text is scanned.
    let scan: JSONScan?

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        scan = nil
    }

    /// Scans the text: it then decodes in the time that the requested values take. That it is
    /// malformed is reported when it is decoded.
    ///
    /// - Parameter pauses: What the scan does now and then, on this thread.
    package init(scanning bytes: [UInt8], pauses: JSONPauses = .none) {
        self.bytes = bytes
        scan = JSONScan(bytes, pauses)
    }

    /// The bytes of memory that the scanned text takes besides ``bytes``: up to 28 for
    /// each of them.
    package var scanBytes: Int { scan?.footprintBytes ?? 0 }
}

/// The nodes of a text from a peer, or its fault.
final class JSONScan: Sendable {
    let nodes: [JSONNode]
    let tables: [Int: JSONKeyTable]
    let refusal: JSONRefusal?
    let footprintBytes: Int

    init(_ bytes: [UInt8], _ pauses: JSONPauses) {
        var scanner = JSONScanner(bytes, refusesDoubles: true, pauses: pauses)
        do throws(JSONRefusal) {
            try scanner.scan()
            (nodes, tables, refusal) = (scanner.nodes, scanner.tables, nil)
        } catch {
            (nodes, tables, refusal) = ([], [:], error)
        }
        footprintBytes =
            nodes.capacity * MemoryLayout<JSONNode>.stride
            + tables.values.reduce(0) { $0 + $1.footprintBytes }
    }
}

extension JSON {
    package static func decode<T: Decodable>(
        _ type: T.Type, from body: JSONBody
    ) throws(JSONRefusal) -> T {
        guard let scan = body.scan else { return try decode(type, from: body.bytes) }
        if let refusal = scan.refusal { throw refusal }
        return try read(type, JSONDocument(body.bytes, scan))
    }

    /// Whether the first byte after white space opens an array.
    package static func isArray(_ body: JSONBody) -> Bool { isArray(body.bytes) }

    /// Whether an array has more elements than `limit`; arbitrary for a malformed body.
    package static func isArray(_ body: JSONBody, longerThan limit: Int) -> Bool {
        guard let scan = body.scan else { return isArray(body.bytes, longerThan: limit) }
        guard let root = scan.nodes.first else { return false }
        return root.kind == .array && root.count > limit
    }
}
