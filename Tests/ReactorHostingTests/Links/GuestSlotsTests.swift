import Sockets
import Testing

@testable import ReactorHosting

@Suite("Guests and actions of parts have slots", .timeLimit(.minutes(15)))
struct GuestSlotsTests {
    @Test func `neither keeps the other out, and both are bounded`() throws {
        let slots = GuestSlots()
        let parts = (0..<GuestSlots.limit).compactMap { _ in slots.allocate() }
        let origins = (0..<UInt32(GuestSlots.limit)).map {
            GuestOrigin(ConnectionID(slot: 1, generation: 1), $0)
        }
        let guests = origins.compactMap { slots.allocate(for: $0) }
        #expect(Set(parts + guests).count == 2 * GuestSlots.limit)
        let other = GuestOrigin(ConnectionID(slot: 2, generation: 1), 0)
        #expect(slots.allocate() == nil && slots.allocate(for: other) == nil)
        slots.free(parts[0])
        #expect(slots.allocate(for: other) == nil)
        #expect(slots.allocate() != nil && slots.allocate() == nil)
        slots.free(guests[0], of: origins[0])
        #expect(slots.id(of: origins[0]) == nil)
        #expect(slots.allocate() == nil)
        let guest = try #require(slots.allocate(for: other))
        #expect(slots.id(of: other) == guest && !guests.contains(guest))
    }
}
