internal import Sockets

/// The ids of guests (requests that came over a link), and of parts' actions that go to another
/// node. Each has a connection without a socket.
///
/// Design: the slots are in a range of their own, above those of connections and below those of
/// relays (`StreamRelays`), so that a look-up of an ordinary connection costs no more.
///
/// Invariant: an id is used by one guest.
final class GuestSlots {
    static let firstSlot: UInt32 = 1 << 30
    /// The maximum number of guests of a loop, and of its parts' actions. Further ones are refused.
    static let limit = 20_000

    private var generations: [UInt32] = []
    private var vacant: [Int] = []
    private var ids: [GuestOrigin: ConnectionID] = [:]

    /// The seat of this id among all guests; nil for the id of an ordinary connection.
    static func seat(of id: ConnectionID) -> Int? {
        id.slot >= firstSlot && id.slot < firstSlot << 1 ? Int(id.slot - firstSlot) : nil
    }

    /// Allocates an id; nil if there are too many of this kind. Guests and parts' actions have
    /// separate limits, so neither can use up the other's.
    ///
    /// - Parameter origin: Nil for a part's action.
    func allocate(for origin: GuestOrigin? = nil) -> ConnectionID? {
        let parts = generations.count - vacant.count - ids.count
        guard (origin == nil ? parts : ids.count) < Self.limit else { return nil }
        let seat = vacant.popLast() ?? generations.count
        if seat == generations.count { generations.append(0) }
        generations[seat] &+= 1
        if generations[seat] == 0 { generations[seat] = 1 }
        let id = ConnectionID(
            slot: Self.firstSlot + UInt32(seat), generation: generations[seat])
        if let origin { ids[origin] = id }
        return id
    }

    /// Makes the seat vacant.
    func free(_ id: ConnectionID, of origin: GuestOrigin? = nil) {
        if let origin { ids[origin] = nil }
        if let seat = Self.seat(of: id) { vacant.append(seat) }
    }

    func id(of origin: GuestOrigin) -> ConnectionID? { ids[origin] }
}
