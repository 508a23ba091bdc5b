/// Finds two members of one name in an object.
///
/// Why peers' duplicates are refused: of two `type`s one parser uses the first and another the last
/// (RFC 8259 §4), so a proxy could check another action than the service carries out.
enum JSONDoubles {
    /// The second of two equal keys in the object at `index`; nil if there are none.
    ///
    /// - Parameter table: Gets all keys of an object with more than ``JSONKeyIndex/threshold``
    ///   members, if no two are equal.
    static func find(
        in index: Int, of nodes: [JSONNode], _ bytes: [UInt8], table: inout JSONKeyTable?,
        _ pauses: JSONPauses
    ) -> Int? {
        guard nodes[index].count <= JSONKeyIndex.threshold else {
            var keys = JSONKeyTable(forKeys: Int(nodes[index].count))
            if let double = findByHash(in: index, of: nodes, bytes, &keys, pauses) { return double }
            table = keys
            return nil
        }
        let end = Int(nodes[index].next)
        var key = index + 1
        while key < end {
            // Unescaping for each comparison costs more than hashing each key once.
            if nodes[key].isComplex {
                var keys = JSONKeyTable(forKeys: Int(nodes[index].count))
                return findByHash(in: index, of: nodes, bytes, &keys, pauses)
            }
            var earlier = index + 1
            while earlier < key {
                if areEqual(nodes[earlier], nodes[key], bytes) { return key }
                earlier = Int(nodes[earlier + 1].next)
            }
            key = Int(nodes[key + 1].next)
        }
        return nil
    }

    static func name(of key: JSONNode, _ bytes: [UInt8]) -> String {
        JSONText.shortened(text(of: key, bytes))
    }

    private static func text(of key: JSONNode, _ bytes: [UInt8]) -> String {
        JSONText.unescaped(bytes[Int(key.start)..<Int(key.end)])
    }

    /// The same for many members and for names with escapes: not quadratic.
    private static func findByHash(
        in index: Int, of nodes: [JSONNode], _ bytes: [UInt8], _ table: inout JSONKeyTable,
        _ pauses: JSONPauses
    ) -> Int? {
        let end = Int(nodes[index].next)
        var key = index + 1
        var count = 0
        while key < end {
            count += 1
            pauses.passed(count)
            let node = nodes[key]
            let hash = JSONKeyTable.hash(of: node, bytes)
            guard table.add(key, hash, unless: { areEqual(nodes[$0], node, bytes) }) else {
                return key
            }
            key = Int(nodes[key + 1].next)
        }
        return nil
    }

    /// Byte by byte, escapes resolved: canonically equivalent keys differ (RFC 8259 §8.3).
    private static func areEqual(_ one: JSONNode, _ other: JSONNode, _ bytes: [UInt8]) -> Bool {
        guard !one.isComplex, !other.isComplex else {
            return text(of: one, bytes).utf8.elementsEqual(text(of: other, bytes).utf8)
        }
        let length = Int(one.end - one.start)
        guard length == Int(other.end - other.start) else { return false }
        let (start, otherStart) = (Int(one.start), Int(other.start))
        for place in 0..<length where bytes[start + place] != bytes[otherStart + place] {
            return false
        }
        return true
    }
}
