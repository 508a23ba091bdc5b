internal import Reactors
internal import JSONCoding
internal import Storage

// The action log: everything that happened, in one order: notes and records.
extension Session {
    /// Whether notes are built: the journal keeps them, or somebody has read the log.
    @usableFromInline
    var keepsNotes: Bool { history.keepsNotes }

    /// From now on notes are built. Nothing that happened before is made up.
    func keepNotes() { history.keepNotes() }

    /// Enters a note; it is shown when its step is committed. Nothing is built while nobody wants
    /// it, after the end, and while something is rolled back.
    func enter(
        _ kind: ActionLogLine.Kind, of action: ActionTag, _ write: (inout [UInt8]) -> Void
    ) {
        guard history.keepsNotes, mayDecide, !attempt.isRollback else { return }
        var body = table.buffers.takeScratch()
        ActionLogLine.append(kind, to: &body, write)
        let (step, time) = (step(), table.time)
        history.appendNote(action: action.number, time: time, body)
        step.end = history.newest
        if keepsRecords {
            table.records.begin(.note, at: step.end, action: action, time: time, in: step)
            table.records.encoder.content.append(contentsOf: body)
        }
        table.buffers.releaseScratch(body)
    }

    // MARK: Reading

    /// A page of the log. The answer shows what is committed then.
    package func readLog(_ request: LogPageRequest) {
        guard isRunning else { return answer(content(absence), request.token) }
        table.eviction.recordUse(of: self)
        keepNotes()
        LogReader(session: self).read(request)
    }

    /// The line of an entry that memory keeps; nil for the end, which the stream itself shows.
    func line(_ head: HistoryEntry.Head, _ events: KeptEvents) -> ActionLogLine? {
        guard head.kind == .mutation else { return ActionLogLine(head, events.content) }
        var content: [UInt8] = []
        machine?.encodeMutation(to: head.version, in: self, out: &content)
        return ActionLogLine(head, content[...])
    }

    /// `{"received":…}` and what `more` adds.
    func enterReceived(
        _ kind: ActionLogLine.Kind, _ action: some Encodable, of tag: ActionTag,
        _ more: (inout [UInt8]) -> Void = { _ in }
    ) {
        enter(kind, of: tag) { out in
            out.append(contentsOf: "{\"received\":".utf8)
            appendReceived(action, to: &out)
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
