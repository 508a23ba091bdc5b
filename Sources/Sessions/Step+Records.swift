internal import Feeds
internal import Storage

// Records for the nodes that follow a session.
extension Step {
    /// Keeps the records for the nodes that follow the session, if there are any.
    func keepRecords(_ runs: [RecordBatch]) {
        guard session.table.cluster?.hints?.wantsRecords(of: session.id) ?? false else { return }
        records = CommittedRecords(runs)
    }
}
