/// The sessions of a table that are being loaded or deleted, or are to be loaded.
final class TableLoads {
    var operations = PendingOperations()
    /// Those whose sources have to be opened again.
    var reopenings = SourceReopenings()
    /// Those that were forgotten with lost history.
    var losses = HistoryLosses()
    /// Those that act without a request.
    var woken = WokenSessions()

    func removeAll() {
        operations.removeAll()
        losses.removeAll()
        woken.removeAll()
    }
}
