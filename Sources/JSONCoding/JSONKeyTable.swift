/// The keys of one object by the hashes of their bytes, so that look-ups and the search for two equal
/// keys are not quadratic.
///
/// Design: open addressing with linear probing. Nothing is removed, so of two equal keys the one
/// that was added first is found first.
///
/// `Hasher` is seeded per process: a peer cannot choose keys that collide.
struct JSONKeyTable {
    private struct Slot {
        var hash = 0
        /// The index of the key's node; 0, which is the root's, for a free slot.
        var key: UInt32 = 0
    }

    private var slots: [Slot]
    private let mask: Int

    /// - Parameter count: The number of keys that will be added, at most.
    init(forKeys count: Int) {
        var size = 32
        while size < 2 * count { size *= 2 }
        slots = Array(repeating: Slot(), count: size)
        mask = size - 1
    }

    /// The first added key with this hash for which the condition holds.
    func first(_ hash: Int, where isEqual: (Int) -> Bool) -> Int? {
        var place = hash & mask
        while slots[place].key != 0 {
            if slots[place].hash == hash, isEqual(Int(slots[place].key)) {
                return Int(slots[place].key)
            }
            place = (place + 1) & mask
        }
        return nil
    }

    /// - Parameter key: The index of the key's node.
    mutating func add(_ key: Int, _ hash: Int) {
        var place = hash & mask
        while slots[place].key != 0 { place = (place + 1) & mask }
        slots[place] = Slot(hash: hash, key: UInt32(key))
    }

    /// The hash of a key's bytes, escapes resolved.
    static func hash(of key: JSONNode, _ bytes: [UInt8]) -> Int {
        let range = Int(key.start)..<Int(key.end)
        if key.isComplex { return hash(of: JSONText.unescaped(bytes[range])) }
        var hasher = Hasher()
        unsafe bytes[range].withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// The same for a key's text. A String's own hash is that of its canonical form.
    static func hash(of key: String) -> Int {
        var hasher = Hasher()
        var key = key
        key.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return hasher.finalize()
    }
}
