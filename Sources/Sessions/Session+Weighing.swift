internal import JSONCoding

/// How much memory keeps for mutations where no journal has them encoded.
///
/// Why not each is measured: encoding is dear beside what else a request costs there. While they
/// weigh as those before, fewer and fewer are, down to one in 32.
struct Weighing {
    /// Bytes of the request that is being received, until a mutation has been charged with them.
    var arrived: Int?
    /// Bytes of the mutation, or of the Cycler's state, that was measured last.
    fileprivate var last = 0
    /// Mutations until the next is measured, and how many there were to be.
    fileprivate var rest = 0
    private var interval = 0

    private static let longestInterval = 31

    fileprivate mutating func recordMeasurement(_ bytes: Int) {
        interval = bytes <= 2 * last + 64 ? min(2 * interval + 1, Self.longestInterval) : 0
        rest = interval
        last = bytes
    }
}

extension Session {
    /// Charges the newest record with its mutation, or the Cycler's state.
    ///
    /// - Returns: whether it has to be measured instead: now and then, and each that no request
    ///   brought.
    @usableFromInline
    func weighsNewest() -> Bool {
        guard let arrived = weighing.arrived else { return true }
        weighing.arrived = 0
        guard weighing.rest > 0 else { return true }
        weighing.rest -= 1
        history.weigh(max(arrived, weighing.last))
        return false
    }

    /// Charges the newest record with what is kept for it.
    func weigh(_ value: some Encodable) {
        var scratch = table.buffers.takeScratch()
        // A value without JSON weighs as much as was written of it; the refusal is reported elsewhere.
        try? JSON.encode(value, into: &scratch, with: &table.buffers.space)
        if weighing.arrived == nil { stateMeter.bring(scratch.count) }
        weighing.recordMeasurement(scratch.count)
        history.weigh(scratch.count)
        table.buffers.releaseScratch(scratch)
    }
}
