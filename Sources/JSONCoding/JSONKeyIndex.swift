/// The keys of one object by hash, so that lookups in an object with a hundred thousand members are
/// not quadratic.
///
/// `Hasher` is seeded per process: a peer cannot choose keys that collide.
struct JSONKeyIndex {
    /// The number of members above which an object gets an index; below it comparison is faster.
    static let threshold = 16

    private struct Entry {
        var hash: Int
        var key: Int
    }

    /// Sorted by hash, then by position.
    private let entries: [Entry]

    init(of object: Int, in document: JSONDocument) {
        var entries: [Entry] = []
        entries.reserveCapacity(Int(document.nodes[object].count))
        let end = Int(document.nodes[object].next)
        var place = object + 1
        while place < end {
            entries.append(Entry(hash: Self.hash(document.text(at: place)), key: place))
            place = Int(document.nodes[place + 1].next)
        }
        entries.sort { ($0.hash, $0.key) < ($1.hash, $1.key) }
        self.entries = entries
    }

    /// The value of the first member called `key`.
    func member(_ key: String, in document: JSONDocument) -> Int? {
        let hash = Self.hash(key)
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        while low < entries.count, entries[low].hash == hash {
            if document.isKey(entries[low].key, key) { return entries[low].key + 1 }
            low += 1
        }
        return nil
    }

    /// The hash of the bytes: a String's own hash is that of its canonical form.
    private static func hash(_ key: String) -> Int {
        var hasher = Hasher()
        for byte in key.utf8 { hasher.combine(byte) }
        return hasher.finalize()
    }
}
