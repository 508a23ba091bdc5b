internal import Sockets

/// Memory of a connection with incomplete input or output.
final class ConnectionBuffers {
    /// A request that is not in the loop's own buffers.
    private enum KeptRequest {
        case none
        case partial(Request)
        /// It waits for its session to be read from the journal, or for its body to be examined.
        case parked(Request)
        /// It waits until the earlier responses are sent; then the connection moves to this loop.
        case migrating(Request, to: Int)
    }

    private var kept = KeptRequest.none
    /// Bytes of the kept request that are counted in the budget of all bodies.
    private var chargedBytes = 0
    private var chargedClient = PeerAddress.local
    /// The bytes of the partial request's body at the beginning of the present period.
    private var earlierBodyBytes = 0
    /// Bytes after a request that waits for its response, or after responses that use up the
    /// connection's output budget. At most one read buffer: reading is paused.
    var pending: ArraySlice<UInt8> = []

    var isIdle: Bool {
        guard case .none = kept else { return false }
        return pending.isEmpty
    }

    func keepPartial(
        _ request: inout Request, charging budget: BodyBudget, for client: PeerAddress
    ) -> Bool {
        guard let request = charge(&request, to: budget, for: client) else { return false }
        kept = .partial(request)
        return true
    }

    /// The bytes of the partial request's body that have arrived in the present period.
    var newBodyBytes: Int { bodyBytes - earlierBodyBytes }

    /// Begins a period for the minimum rate of the partial request's body.
    ///
    /// - Parameter isFirst: Whether all bytes that have arrived so far are of this period.
    func beginBodyPeriod(isFirst: Bool = false) { earlierBodyBytes = isFirst ? 0 : bodyBytes }

    var bodyBytes: Int {
        if case .partial(let request) = kept { request.body.count } else { 0 }
    }

    func park(
        _ request: inout Request, charging budget: BodyBudget, for client: PeerAddress
    ) -> Bool {
        guard let request = charge(&request, to: budget, for: client) else { return false }
        kept = .parked(request)
        return true
    }

    var parked: Request? {
        if case .parked(let request) = kept { request } else { nil }
    }

    func keep(
        _ request: inout Request, forMigrationTo loop: Int, charging budget: BodyBudget,
        for client: PeerAddress
    ) -> Bool {
        guard let request = charge(&request, to: budget, for: client) else { return false }
        kept = .migrating(request, to: loop)
        return true
    }

    func removePartial(_ loop: LoopResources) -> Request? {
        guard case .partial(let request) = kept else { return nil }
        kept = .none
        refund(loop)
        return request
    }

    func removeParked(_ loop: LoopResources) -> Request? {
        guard case .parked(let request) = kept else { return nil }
        kept = .none
        refund(loop)
        return request
    }

    func removeMigrating(_ loop: LoopResources) -> (request: Request, owner: Int)? {
        guard case .migrating(let request, let owner) = kept else { return nil }
        kept = .none
        refund(loop)
        return (request, owner)
    }

    /// Moves the request out of `request`. Nil, without moving, if the budget of bodies is used up.
    private func charge(
        _ request: inout Request, to budget: BodyBudget, for client: PeerAddress
    ) -> Request? {
        // A small body must not keep the memory of a larger one before it.
        if request.body.capacity > 2 * request.body.count + 4_096 {
            request.body = Array(request.body)
        }
        let bytes = request.footprintBytes
        guard budget.charge(bytes, for: client) else { return nil }
        (chargedBytes, chargedClient) = (bytes, client)
        var moved = Request()
        swap(&moved, &request)
        return moved
    }

    private func refund(_ loop: LoopResources) {
        guard chargedBytes > 0 else { return }
        loop.service.bodies.giveBack(chargedBytes, for: chargedClient)
        loop.heap.freed(chargedBytes)
        chargedBytes = 0
    }

    /// Releases all memory, because the connection ends.
    func discard(_ loop: LoopResources) {
        kept = .none
        refund(loop)
        loop.heap.freed(pending.count)
    }
}
