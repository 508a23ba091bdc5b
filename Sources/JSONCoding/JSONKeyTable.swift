/// The keys of one object by the hashes of their bytes, so that look-ups and the search for two
/// equal keys are not quadratic.
///
/// Design: open addressing with linear probing. Nothing is removed, so of two equal keys the one
/// that was added first is found first.
///
/// `Hasher` is seeded per process: a peer cannot choose keys that collide. A slot has a half of the
/// hash, so that the table of a wide object is small enough for the processor's cache.
struct JSONKeyTable {
    private struct Slot {
        var hash: UInt32 = 0
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

    var footprintBytes: Int { slots.count * MemoryLayout<Slot>.stride }

    func first(_ hash: Int, where isEqual: (Int) -> Bool) -> Int? {
        let found = place(of: hash, where: isEqual)
        return slots[found].key == 0 ? nil : Int(slots[found].key)
    }

    /// - Parameter key: The index of the key's node.
    mutating func add(_ key: Int, _ hash: Int) {
        _ = add(key, hash, unless: { _ in false })
    }

    /// Adds a key unless the condition holds for one with this hash. Returns whether it was added.
    mutating func add(_ key: Int, _ hash: Int, unless isEqual: (Int) -> Bool) -> Bool {
        let found = place(of: hash, where: isEqual)
        guard slots[found].key == 0 else { return false }
        slots[found] = Slot(hash: UInt32(truncatingIfNeeded: hash), key: UInt32(key))
        return true
    }

    /// The place of the first key with this hash for which the condition holds, or of a free slot.
    private func place(of hash: Int, where isEqual: (Int) -> Bool) -> Int {
        let half = UInt32(truncatingIfNeeded: hash)
        var place = Int(half) & mask
        while slots[place].key != 0 {
            if slots[place].hash == half, isEqual(Int(slots[place].key)) { break }
            place = (place + 1) & mask
        }
        return place
    }

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
