internal import Sockets

/// The ids of guests: requests that came over a link. Each has a connection without a socket.
///
/// Design: the slots are in a range of their own, above those of connections and below those of relays
/// (`StreamRelays`), so that a look-up of an ordinary connection costs no more.
///
/// Invariant: an id is used by one guest.
final class GuestSlots {
    static let firstSlot: UInt32 = 1 << 30
    /// Guests of one loop; further ones are answered with 503.
    static let limit = 20_000

    private var generations: [UInt32] = []
    private var vacant: [Int] = []
    private var ids: [GuestOrigin: ConnectionID] = [:]

    /// The seat of that id, among those of all guests; nil for an id of an ordinary connection.
    static func seat(of id: ConnectionID) -> Int? {
        id.slot >= firstSlot && id.slot < firstSlot << 1 ? Int(id.slot - firstSlot) : nil
    }

    /// Nil if there are too many guests.
    func allocate(for origin: GuestOrigin) -> ConnectionID? {
        guard ids.count < Self.limit else { return nil }
        let seat = vacant.popLast() ?? generations.count
        if seat == generations.count { generations.append(0) }
        generations[seat] &+= 1
        if generations[seat] == 0 { generations[seat] = 1 }
        let id = ConnectionID(
            slot: Self.firstSlot + UInt32(seat), generation: generations[seat])
        ids[origin] = id
        return id
    }

    /// Makes the seat vacant.
    func free(_ origin: GuestOrigin) {
        guard let id = ids.removeValue(forKey: origin), let seat = Self.seat(of: id) else { return }
        vacant.append(seat)
    }

    func id(of origin: GuestOrigin) -> ConnectionID? { ids[origin] }
}
