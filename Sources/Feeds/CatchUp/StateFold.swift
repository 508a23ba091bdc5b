package import JSONCoding
package import Storage

/// A state that is rebuilt from the journal, one record after the other.
package protocol StateFold: AnyObject {
    /// The number of mutations so far.
    var version: UInt64 { get }

    /// The `stateVersion` of the records that it can apply.
    var stateVersion: Int { get }

    /// Applies a record of the kind `mutation`.
    func apply(_ record: HistoryEntry) throws(RecoveryFault)

    /// Appends the state as it is shown. If its decoration fails, appends the undecorated state.
    ///
    /// - Returns: the first failure of a decoration; nil otherwise.
    func encodeShown(to out: inout [UInt8]) throws(JSONEncodingFailure) -> String?

    /// Appends the chosen pulses of the shown state as `{"<pulse>":<value>,…}`.
    ///
    /// - Returns: the same as ``encodeShown(to:)``.
    func encodePulses(_ chosen: UInt64, to out: inout [UInt8]) -> String?

    /// Appends the state as `reduce` made it.
    func encodeRaw(to out: inout [UInt8]) throws(JSONEncodingFailure)
}

extension StateFold {
    /// Applies the next mutation.
    ///
    /// - Throws: ``RecoveryFault``, also if the mutation is not the next one: a state that lacks an
    ///   acknowledged mutation must never be shown.
    func applyNext(_ record: HistoryEntry) throws(RecoveryFault) {
        guard record.version == version + 1 else {
            throw RecoveryFault(
                place: "the mutation of version \(record.version)",
                reason: "it follows version \(version)")
        }
        try apply(record)
    }

    /// Applies every mutation that a session has saved since its snapshot.
    ///
    /// Why the state must be encodable if its form is new: a load reads each mutation in the form
    /// of the snapshot before it. So the session has to save a snapshot in the new form first.
    ///
    /// - Parameter form: the program's `stateVersion`.
    /// - Throws: ``RecoveryFault``, also if the mutations do not end at the session's version, or
    ///   if the snapshot belongs to a record that the session has not reached. (Records that are
    ///   later written up to that snapshot would never be read.)
    package func applyAll(of saved: SavedSession, in form: Int) throws(RecoveryFault) {
        if let snapshot = saved.snapshot, snapshot.number > saved.end.number {
            throw RecoveryFault(
                place: "the snapshot of version \(snapshot.version)",
                reason: "it is of record \(snapshot.number), and the history ends at record "
                    + "\(saved.end.number)")
        }
        for record in saved.mutations { try applyNext(record) }
        guard version == saved.end.version else {
            throw RecoveryFault(
                place: "the history",
                reason: "it ends at version \(version), and the session is at "
                    + "\(saved.end.version)")
        }
        guard saved.snapshot != nil, stateVersion != form else { return }
        var state: [UInt8] = []
        do throws(JSONEncodingFailure) {
            try encodeRaw(to: &state)
        } catch {
            throw .unencodable(version, error)
        }
    }
}
