internal import JSONCoding

extension Session {
    /// Counts a mutation. Returns whether the state has to be measured now.
    @usableFromInline
    func isMeasureDue() -> Bool { stateMeter.isDue(table.limits.stateBytes) }

    /// Measures a state, and refuses what is being decided if the state is larger than
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

    /// Whether a state of this size may be. If not, what is being decided is refused.
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
