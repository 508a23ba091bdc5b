internal import JSONCoding

// Sizes: of the mutations that memory keeps, and of the state.
extension Session {
    /// Charges the newest record with the estimated size of its mutation, or of the Cycler's state.
    ///
    /// - Returns: whether the value has to be measured instead.
    @usableFromInline
    func weighsNewest() -> Bool {
        guard let estimate = mutationMeter.estimate() else { return true }
        history.weigh(estimate)
        return false
    }

    /// Measures a value that is kept for the newest record, and charges the record with its size.
    func weigh(_ value: some Encodable) {
        var scratch = table.buffers.takeScratch()
        // A value that has no JSON is charged with the bytes before the failure, which is reported
        // elsewhere.
        try? JSON.encode(value, into: &scratch, with: &table.buffers.space)
        if mutationMeter.unchargedBytes == nil { stateMeter.addReceived(scratch.count) }
        mutationMeter.recordMeasurement(scratch.count)
        history.weigh(scratch.count)
        table.buffers.releaseScratch(scratch)
    }

    // MARK: The state

    /// Counts a mutation.
    ///
    /// - Returns: whether the state has to be measured now.
    @usableFromInline
    func isMeasureDue() -> Bool { stateMeter.isDue(table.limits.stateBytes) }

    /// Measures a state, and refuses the present decision if the state is larger than
    /// `--state-limit`.
    func measure(_ state: some Encodable) {
        var scratch = table.buffers.takeScratch()
        defer { table.buffers.releaseScratch(scratch) }
        do {
            try JSON.encode(state, into: &scratch, with: &table.buffers.space)
        } catch {
            return refuse(.notEncodable("the state", error))
        }
        _ = admits(stateBytes: scratch.count)
    }

    /// Refuses the present decision if a state of this size exceeds the limit.
    ///
    /// - Returns: whether the state is within the limit.
    func admits(stateBytes count: Int) -> Bool {
        let limit = table.limits.stateBytes
        guard count > limit else {
            stateMeter.recordMeasurement(count)
            return true
        }
        stateMeter.recordRefusal()
        refuse(.stateTooLarge(limit: limit))
        return false
    }
}
