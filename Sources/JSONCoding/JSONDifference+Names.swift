// Two members of one name: a type may encode one key twice, and a pointer names only one of them.
extension JSONDifference {
    /// - Throws: `impossible` if an object in a range has two members of one name.
    mutating func requireUniqueNames(_ bytes: [UInt8], _ range: Range<Int>) throws(GiveUp) {
        try count(range.count)
        var names = NameSearch()
        var place = range.lowerBound
        while place < range.upperBound {
            switch bytes[place] {
            case UInt8(ascii: "\""):
                guard let end = JSONSkipper.end(ofStringAt: place, in: bytes) else {
                    throw .impossible
                }
                if end < range.upperBound, bytes[end] == UInt8(ascii: ":") {
                    names.add(JSONText.hash(bytes, place..<end))
                }
                place = end
                continue
            case UInt8(ascii: "{"): names.begin()
            case UInt8(ascii: "}"): guard names.endUnique() else { throw .impossible }
            default: break
            }
            place += 1
        }
    }

    /// The same for the members of one object of the other text, without those inside them.
    mutating func requireUniqueNames(of object: Int) throws(GiveUp) {
        var (names, end) = (NameSearch(), object)
        names.begin()
        guard let children = JSONChildren(ofContainerAt: object, in: other) else {
            throw .impossible
        }
        for child in children {
            try count(child.value.upperBound - end)
            end = child.value.upperBound
            if let key = child.key { names.add(JSONText.hash(other, key)) }
        }
        guard names.endUnique() else { throw .impossible }
    }
}

/// The hashes of the names of the open objects. Two names of one hash count as one.
private struct NameSearch {
    private var hashes: [Int] = []
    private var begins: [Int] = []

    mutating func begin() { begins.append(hashes.count) }

    mutating func add(_ hash: Int) { hashes.append(hash) }

    /// Ends the innermost object.
    ///
    /// - Returns: whether its names differ.
    mutating func endUnique() -> Bool {
        guard let begin = begins.popLast() else { return true }
        defer { hashes.removeLast(hashes.count - begin) }
        guard hashes.count - begin > 1 else { return true }
        hashes[begin...].sort()
        return zip(hashes[begin...], hashes[(begin + 1)...]).allSatisfy { $0 != $1 }
    }
}
