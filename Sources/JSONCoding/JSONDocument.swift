/// One scanned text: its bytes and nodes; it lives as long as its decoders and containers.
///
/// Design: a decoder or container is this reference and an index, and allocates no memory. Paths
/// are not tracked while reading; a refusal determines its path by climbing to the root.
final class JSONDocument {
    let bytes: [UInt8]
    let nodes: [JSONNode]
    /// Key indexes of objects with many members: of the widest ones from the search for equal keys,
    /// of the others built on the first access.
    private var indexes: [Int: JSONKeyIndex]
    /// The node of the first error that has no path of its own.
    private(set) var blamed: Int?
    /// The fault in the `type` of the enum that is being read: thrown in place of the error of
    /// Swift's synthesised code, which finds no case.
    var tagError: DecodingError?
    /// The defaults for missing members; set only while a saved state is read.
    var fallback: JSONFallback?

    /// - Parameter refusesDoubles: whether an object with two members of one name is refused.
    init(_ bytes: [UInt8], refusesDoubles: Bool = false) throws(JSONRefusal) {
        var scanner = JSONScanner(bytes, refusesDoubles: refusesDoubles)
        try scanner.scan()
        self.bytes = bytes
        nodes = scanner.nodes
        indexes = Self.indexes(scanner.tables)
    }

    init(_ bytes: [UInt8], _ scan: JSONScan) {
        self.bytes = bytes
        nodes = scan.nodes
        indexes = Self.indexes(scan.tables)
    }

    private static func indexes(_ tables: [Int: JSONKeyTable]) -> [Int: JSONKeyIndex] {
        tables.isEmpty ? [:] : tables.mapValues(JSONKeyIndex.init)
    }

    func blame(_ node: Int) {
        if blamed == nil { blamed = node }
    }

    func text(at node: Int) -> String {
        let node = nodes[node]
        let slice = bytes[Int(node.start)..<Int(node.end)]
        return node.isComplex ? JSONText.unescaped(slice) : String(decoding: slice, as: UTF8.self)
    }

    func member(_ key: String, of object: Int) -> Int? {
        guard nodes[object].count <= JSONKeyIndex.threshold else {
            return indexedMember(key, of: object)
        }
        let end = Int(nodes[object].next)
        var place = object + 1
        while place < end {
            if isKey(place, key) { return place + 1 }
            place = Int(nodes[place + 1].next)
        }
        return nil
    }

    private func indexedMember(_ key: String, of object: Int) -> Int? {
        if let index = indexes[object] { return index.member(key, in: self) }
        let index = JSONKeyIndex(of: object, in: self)
        indexes[object] = index
        return index.member(key, in: self)
    }

    /// Whether the key at `node` is `key`, byte by byte: keys that are only canonically
    /// equivalent are different ones (RFC 8259 §8.3).
    func isKey(_ node: Int, _ key: String) -> Bool {
        let node = nodes[node]
        if node.isComplex {
            let slice = bytes[Int(node.start)..<Int(node.end)]
            return JSONText.unescaped(slice).utf8.elementsEqual(key.utf8)
        }
        return JSONText.isEqual(bytes, from: Int(node.start), to: Int(node.end), key)
    }

    func path(to node: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var place = node
        while place != 0 {
            let parent = Int(nodes[place].parent)
            if nodes[parent].kind == .object {
                path.append(JSONPathKey(text(at: place - 1)))
            } else {
                path.append(JSONPathKey(Int(nodes[place].ordinal)))
            }
            place = parent
        }
        path.reverse()
        return path
    }
}
