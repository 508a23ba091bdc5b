internal import JSONCoding

/// What memory keeps of mutations where no journal has them encoded.
///
/// Why not each is measured: encoding is dear beside what else a request costs there.
struct Weighing {
    /// Bytes of the request that is being received, until a mutation has been charged with them.
    var arrived: Int?
    /// Bytes of the mutation, or of the Cycler's state, that was measured last.
    fileprivate var last = 0
    fileprivate var count: UInt8 = 0
}

extension Session {
    /// Charges the newest record with its mutation, or the Cycler's state.
    ///
    /// - Returns: whether it has to be measured instead: every eighth, and each that no request
    ///   brought.
    @usableFromInline
    func weighsNewest() -> Bool {
        weighing.count &+= 1
        guard let arrived = weighing.arrived else { return true }
        weighing.arrived = 0
        guard weighing.count & 7 != 0 else { return true }
        log.weigh(max(arrived, weighing.last))
        return false
    }

    /// Charges the newest record with what is kept for it.
    func weigh(_ value: some Encodable) {
        var scratch = table.takeScratch()
        // What has no JSON weighs as much as was written of it; others say that it has none.
        try? JSON.encode(value, into: &scratch, with: &table.encodingSpace)
        if weighing.arrived == nil { stateMeter.bring(scratch.count) }
        weighing.last = scratch.count
        log.weigh(scratch.count)
        table.giveBack(scratch)
    }
}
