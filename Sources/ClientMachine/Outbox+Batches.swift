extension Outbox {
    /// Whether a further send fits (O7).
    func hasRoom(for actions: [[UInt8]], within limits: ClientLimits) -> Bool {
        let bytes = actions.reduce(0) { $0 + $1.count }
        return actionCount + actions.count <= limits.actionsInOutbox
            && byteCount + bytes <= limits.bytesInOutbox
    }
}

extension Outbox.Lane {
    /// The number of waiting sends that the next request has (O1); 0 if none waits.
    ///
    /// - Parameter most: of sends, while a refused batch is narrowed down (O5).
    func nextBatch(most: Int?, bytes bytesLimit: Int, within limits: ClientLimits) -> Int {
        var (count, actions, bytes) = (0, 0, 0)
        for entry in queued.prefix(most ?? .max) {
            actions += entry.actions.count
            bytes += entry.byteCount
            let fits = actions <= limits.actionsInRequest && bytes <= bytesLimit
            if count > 0 && (!fits || entry.options.travelsAlone) { break }
            count += 1
            if entry.options.travelsAlone { break }
        }
        return count
    }
}
