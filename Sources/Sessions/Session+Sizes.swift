internal import Feeds
internal import JSONCoding

// Sizes: of the mutations that memory keeps, and of the state.
extension Session {
    /// Charges the newest record with the estimated size of its mutation, or of the Cycler's state.
    ///
    /// - Returns: whether the value has to be measured instead.
    @usableFromInline
    func weighsNewest() -> Bool {
        guard let estimate = meters.mutation.estimate() else { return true }
        history.weigh(estimate)
        return false
    }

    /// Measures a value that is kept for the newest record, and charges the record with its size.
    func weigh(_ value: some Encodable) {
        let buffers = table.buffers
        var scratch = buffers.takeScratch()
        // A value that has no JSON is charged with the bytes before the failure, which is reported
        // elsewhere.
        try? JSON.encode(value, into: &scratch, with: &buffers.space)
        if meters.mutation.unchargedBytes == nil { meters.state.addReceived(scratch.count) }
        meters.mutation.recordMeasurement(scratch.count)
        history.weigh(scratch.count)
        buffers.releaseScratch(scratch)
    }

    // MARK: The state

    /// About the bytes of the state as JSON; 0 if it was not measured.
    package var stateEstimate: Int { min(meters.state.estimate, table.limits.stateBytes) }

    /// Counts a mutation.
    ///
    /// - Returns: whether the state has to be measured now.
    @usableFromInline
    func isMeasureDue() -> Bool {
        meters.state.isDue(table.limits.stateBytes, mayWait: attempt.isRequest)
    }

    @usableFromInline
    func isInRequest() -> Bool { attempt.isRequest }

    /// Whether the state has to be measured at the end of the request.
    @usableFromInline
    func isMeasureLeft() -> Bool { meters.state.isOwed && !attempt.isRefused }

    /// Measures a state, and refuses the present decision if the state is larger than
    /// `--state-limit`.
    ///
    /// - Parameter mayWait: whether a state that is a little larger may become smaller in the rest
    ///   of the request.
    func measure(_ state: some Encodable, mayWait: Bool = false) {
        let buffers = table.buffers
        var scratch = buffers.takeScratch()
        scratch.reserveCapacity(stateEstimate)
        defer {
            table.pass.count(scratch.count)
            buffers.releaseScratch(scratch)
        }
        do {
            try JSON.encode(state, into: &scratch, with: &buffers.space)
        } catch {
            return refuse(.notEncodable("the state", error))
        }
        guard mayWait, scratch.count / 5 * 4 <= table.limits.stateBytes else {
            _ = admits(stateBytes: scratch.count)
            return
        }
        meters.state.recordMeasurement(scratch.count)
        meters.state.isOwed = scratch.count > table.limits.stateBytes
    }

    /// Refuses the present decision if a state of this size exceeds the limit.
    ///
    /// - Returns: whether the state is within the limit.
    func admits(stateBytes count: Int) -> Bool {
        let limit = table.limits.stateBytes
        guard count > limit else {
            meters.state.recordMeasurement(count)
            return true
        }
        meters.state.takeBack()
        refuse(.stateTooLarge(limit: limit))
        return false
    }
}
