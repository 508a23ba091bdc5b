internal import DequeModule
internal import Feeds

/// The blocks of one reader in this process that the reader has not read yet.
///
/// If they have more than 64 KiB, they count as optional bytes of the ``WorkBudget``, which all
/// readers share. A reader may always have one block, even if there is no room for it. Why: if it
/// had none, no read would ever ask for the next one.
struct UnreadBlocks {
    private let work: WorkBudget
    /// The oldest first.
    private var sizes: Deque<Int> = []
    private var bytes = 0
    /// Nil while they have at most 64 KiB, or there is no room for the only block.
    private var charge: WorkCharge?

    init(_ work: WorkBudget) { self.work = work }

    var count: Int { sizes.count }

    /// - Returns: false if there is no room for the block besides the others.
    mutating func add(_ size: Int) -> Bool {
        guard count(bytes + size) || sizes.isEmpty else { return false }
        sizes.append(size)
        bytes += size
        return true
    }

    mutating func removeFirst() { removed(sizes.removeFirst()) }

    mutating func removeLast() { removed(sizes.removeLast()) }

    private mutating func removed(_ size: Int) {
        bytes -= size
        _ = count(bytes)
    }

    private mutating func count(_ bytes: Int) -> Bool {
        guard bytes > WorkBudget.smallestBytes else {
            charge = nil
            return true
        }
        if let charge { return charge.resize(to: bytes) }
        charge = work.charge(bytes, for: nil, mayBeDropped: true)
        return charge != nil
    }
}
