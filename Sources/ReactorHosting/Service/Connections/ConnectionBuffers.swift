internal import Sockets

/// Memory of a connection with incomplete input or output.
final class ConnectionBuffers {
    /// Why a request is not in the loop's own buffers.
    enum Role: Equatable {
        /// Its rest has not arrived.
        case partial
        /// It waits for its session to be read from the journal, or for its body to be examined.
        case parked
        /// It waits until the earlier responses are sent; then the connection moves to this loop.
        case migrating(to: Int)
    }

    private var kept: (request: Request, role: Role)?
    /// Bytes of the kept request that are counted in the budget of all bodies.
    private var chargedBytes = 0
    private var chargedClient = PeerAddress.local
    /// The bytes of the partial request's body at the beginning of the present period.
    private var earlierBodyBytes = 0
    /// Bytes after a request that waits for its response, or after responses that use up the
    /// connection's output budget. At most one read buffer: reading is paused.
    var pending: ArraySlice<UInt8> = []

    var isIdle: Bool { kept == nil && pending.isEmpty }

    /// The bytes of the partial request's body that have arrived in the present period.
    var newBodyBytes: Int { bodyBytes - earlierBodyBytes }

    /// Begins a period for the minimum rate of the partial request's body.
    ///
    /// - Parameter isFirst: Whether all bytes that have arrived so far are of this period.
    func beginBodyPeriod(isFirst: Bool = false) { earlierBodyBytes = isFirst ? 0 : bodyBytes }

    var bodyBytes: Int {
        if let kept, kept.role == .partial { kept.request.body.count } else { 0 }
    }

    var parked: Request? {
        if let kept, kept.role == .parked { kept.request } else { nil }
    }

    /// The loop to which the connection moves with its request.
    var destination: Int? {
        if case .migrating(let loop)? = kept?.role { loop } else { nil }
    }

    func removeParked(_ loop: LoopResources) -> Request? { remove(.parked, loop) }

    func remove(_ role: Role, _ loop: LoopResources) -> Request? {
        guard let kept, kept.role == role else { return nil }
        self.kept = nil
        refund(loop)
        return kept.request
    }

    /// Moves the request out of `request`. Returns false, without moving it, if the budget of
    /// bodies is used up.
    func keep(
        _ request: inout Request, as role: Role, charging budget: BodyBudget,
        for client: PeerAddress
    ) -> Bool {
        // A small body must not keep the memory of a larger one before it.
        if request.body.capacity > 2 * request.body.count + 4_096 {
            request.body = Array(request.body)
        }
        let bytes = request.footprintBytes
        guard budget.charge(bytes, for: client) else { return false }
        (chargedBytes, chargedClient) = (bytes, client)
        var moved = Request()
        swap(&moved, &request)
        kept = (moved, role)
        return true
    }

    private func refund(_ loop: LoopResources) {
        guard chargedBytes > 0 else { return }
        loop.service.bodies.giveBack(chargedBytes, for: chargedClient)
        loop.heap.freed(chargedBytes)
        chargedBytes = 0
    }

    /// Releases all memory, because the connection ends.
    func discard(_ loop: LoopResources) {
        kept = nil
        refund(loop)
        loop.heap.freed(pending.count)
    }
}
