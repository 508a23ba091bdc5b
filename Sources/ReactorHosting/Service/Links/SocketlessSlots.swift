internal import Clustering
internal import Sockets

/// The ids of requests that came over a link, and of parts' actions that go to another node. Each
/// has a connection without a socket.
///
/// Design: the slots are in a range of their own, above those of connections and below those of
/// relays (`StreamRelays`), so looking up an ordinary connection costs no more.
///
/// Invariant: no two of them use the same id.
final class SocketlessSlots {
    static let firstSlot: UInt32 = 1 << 30
    /// For each loop, the maximum number of requests from other nodes, and the maximum number of
    /// parts' actions. Further ones are refused.
    static let limit = 20_000

    private var generations: [UInt32] = []
    private var vacant: [Int] = []
    private var ids: [ForwardOrigin: ConnectionID] = [:]

    /// The index of this id among all connections without a socket; nil for the id of an
    /// ordinary connection.
    static func index(of id: ConnectionID) -> Int? {
        id.slot >= firstSlot && id.slot < firstSlot << 1 ? Int(id.slot - firstSlot) : nil
    }

    /// Allocates an id; nil if there are too many of this kind. Requests and parts' actions have
    /// separate limits, so neither can use up the other's.
    ///
    /// - Parameter origin: Nil for a part's action.
    func allocate(for origin: ForwardOrigin? = nil) -> ConnectionID? {
        let parts = generations.count - vacant.count - ids.count
        guard (origin == nil ? parts : ids.count) < Self.limit else { return nil }
        let slotIndex = vacant.popLast() ?? generations.count
        if slotIndex == generations.count { generations.append(0) }
        generations[slotIndex] &+= 1
        if generations[slotIndex] == 0 { generations[slotIndex] = 1 }
        let id = ConnectionID(
            slot: Self.firstSlot + UInt32(slotIndex), generation: generations[slotIndex])
        if let origin { ids[origin] = id }
        return id
    }

    /// Frees the id.
    func free(_ id: ConnectionID, of origin: ForwardOrigin? = nil) {
        if let origin { ids[origin] = nil }
        if let slotIndex = Self.index(of: id) { vacant.append(slotIndex) }
    }

    func id(of origin: ForwardOrigin) -> ConnectionID? { ids[origin] }
}
