internal import Feeds
internal import Reactors
internal import Storage

/// Writes the records of a loop's sessions for the journal, one at a time.
///
/// A record is open until the next one begins or the steps are committed. Until then its content
/// and its events can be appended to `encoder`.
final class RecordWriter {
    var encoder = RecordEncoder()
    /// The step that the open record belongs to; nil if no record is open.
    private var step: Step?

    /// Begins a record of the session of `step`.
    ///
    /// - Parameter end: the end of the history, with the record.
    func begin(
        _ kind: HistoryEntry.Kind, at end: HistoryEnd, action: ActionTag, time: Int64,
        in step: Step
    ) {
        finish()
        let head = HistoryEntry.Head(
            kind, at: end.position, version: end.version, action: action.number, time: time)
        encoder.begin(head, traceparent: step.session.arrival.traceparent)
        self.step = step
    }

    /// Whether the open record is one of this session's.
    func isWriting(for session: Session) -> Bool { step?.session === session }

    /// Adds the open record to the batch of its step.
    func finish() {
        guard let step else { return }
        self.step = nil
        if step.batch.runs.last?.isFull ?? true {
            step.batch.runs.append(
                RecordBatch(
                    of: step.session.key, step.session.registration.name, after: step.continued,
                    lineage: step.lineage))
        }
        encoder.finish(in: &step.batch.runs[step.batch.runs.count - 1])
    }

    /// Drops the open record if it is one of this session's.
    func discard(of session: Session) {
        if isWriting(for: session) { step = nil }
    }
}
