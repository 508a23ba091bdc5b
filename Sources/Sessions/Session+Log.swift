internal import Feeds
internal import Reactors
internal import JSONCoding
internal import Storage

// The action log: the notes and the records in one order.
extension Session {
    /// Whether notes are built: the journal stores them, or a client has read the log.
    @usableFromInline
    var keepsNotes: Bool { history.keepsNotes }

    /// Starts to build notes. There are none for earlier events.
    func keepNotes() { history.keepNotes() }

    /// Adds a note, which is shown when its step is committed. No note is built before a client has
    /// read the log (unless the journal stores notes), after the end, and during a rollback.
    func enter(
        _ kind: ActionLogLine.Kind, of action: ActionTag, _ write: (inout [UInt8]) -> Void
    ) {
        guard history.keepsNotes, mayDecide, !attempt.isRollback else { return }
        let buffers = table.buffers
        var body = buffers.takeScratch()
        ActionLogLine.append(kind, to: &body, write)
        let (step, time) = (step(), table.time)
        lastUse = time
        history.appendNote(action: action.number, time: time, body)
        step.end = history.newest
        if keepsRecords {
            records.begin(.note, at: step.end, action: action, time: time, in: step)
            records.encoder.content.append(contentsOf: body)
            persistence?.snapshots.entryWritten(body.count)
        }
        buffers.releaseScratch(body)
    }

    /// Adds a note `{"received":…}`, with `"subject":…` if a client is known, with `"key":…` if the
    /// request had one, and with the members that `more` appends.
    func enterReceived(
        _ kind: ActionLogLine.Kind, _ action: some Encodable, of tag: ActionTag,
        _ more: (inout [UInt8]) -> Void = { _ in }
    ) {
        enter(kind, of: tag) { out in
            out.append(contentsOf: "{\"received\":".utf8)
            appendReceived(action, to: &out)
            if let subject = arrival.subject {
                out.append(contentsOf: ",\"subject\":".utf8)
                JSON.appendString(subject, to: &out)
            }
            if let key = arrival.key {
                out.append(contentsOf: ",\"key\":".utf8)
                JSON.appendString(key, to: &out)
            }
            more(&out)
            out.append(UInt8(ascii: "}"))
        }
    }

    func enterEnd(ofSource name: String) {
        enter(.sourceEnded, of: .none) { out in
            out.append(contentsOf: "{\"source\":".utf8)
            JSON.appendString(name, to: &out)
            out.append(UInt8(ascii: "}"))
        }
    }
}
