import Clustering
import Sockets
import Testing

@testable import ReactorHosting

@Suite("Requests of other nodes and actions of parts have slots", .timeLimit(.minutes(60)))
struct SocketlessSlotsTests {
    @Test func `neither keeps the other out, and both are bounded`() throws {
        let slots = SocketlessSlots()
        let parts = (0..<SocketlessSlots.limit).compactMap { _ in slots.allocate() }
        let origins = (0..<UInt32(SocketlessSlots.limit)).map {
            ForwardOrigin(ConnectionID(slot: 1, generation: 1), $0)
        }
        let requests = origins.compactMap { slots.allocate(for: $0) }
        #expect(Set(parts + requests).count == 2 * SocketlessSlots.limit)
        let other = ForwardOrigin(ConnectionID(slot: 2, generation: 1), 0)
        #expect(slots.allocate() == nil && slots.allocate(for: other) == nil)
        slots.free(parts[0])
        #expect(slots.allocate(for: other) == nil)
        #expect(slots.allocate() != nil && slots.allocate() == nil)
        slots.free(requests[0], of: origins[0])
        #expect(slots.id(of: origins[0]) == nil)
        #expect(slots.allocate() == nil)
        let request = try #require(slots.allocate(for: other))
        #expect(slots.id(of: other) == request && !requests.contains(request))
    }
}
