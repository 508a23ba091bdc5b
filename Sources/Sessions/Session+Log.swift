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
        guard history.keepsNotes, mayDecide, !isRollingBack else { return }
        var body = table.takeScratch()
        ActionLogLine.append(kind, to: &body, write)
        let (step, time) = (step(), table.time)
        history.appendNote(action: action.number, time: time, body)
        step.end = history.newest
        if keepsRecords {
            table.write(.note, at: step.end, action: action, time: time, in: step)
            table.encoder.content.append(contentsOf: body)
        }
        table.giveBack(body)
    }

    // MARK: Places

    /// Everything up to here may be seen by a stream of this selection.
    func committedPosition(for selection: Selection) -> HistoryPosition {
        history.committedPosition(notes: selection.log)
    }

    /// Everything after here is kept for a stream of this selection.
    func keptPosition(for selection: Selection) -> HistoryPosition {
        history.keptPosition(notes: selection.log)
    }

    // MARK: Reading

    /// A page of the log. The answer shows what is committed then.
    package func readLog(_ request: LogPageRequest) {
        guard isRunning else { return answer(content(absence), request.token) }
        noteUse()
        keepNotes()
        if let start = archivedStart(request) { return readArchivedLog(request, after: start) }
        answer(.log(request))
    }

    /// Answers with a page of what is committed now, from memory or from the journal.
    ///
    /// Why not decided when the page is asked for: an earlier step may commit meanwhile, and trims
    /// what the page begins with.
    func deliverPage(_ request: LogPageRequest) {
        if let start = archivedStart(request) { return readArchivedLog(request, after: start) }
        table.output.reply(content(.logPage(logPage(request))), to: request.token)
    }

    /// Where the page begins, if that is only in the journal.
    private func archivedStart(_ request: LogPageRequest) -> HistoryPosition? {
        guard let persistence else { return nil }
        var start = HistoryPosition(persistence.keptAfter)
        if let text = request.after {
            guard case .success(let position) = resumption(text, .log) else { return nil }
            start = position.inHistory
        }
        return start < keptPosition(for: .log) ? start : nil
    }

    /// The same page from the journal.
    private func readArchivedLog(_ request: LogPageRequest, after start: HistoryPosition) {
        let key = key
        let last = history.committed.number + 1
        let end = committedPosition(for: .log)
        persistence?.readers.insert(request.token)
        askArchive { archive, answer in
            archive.records(
                of: key, after: start, through: last, limitBytes: LogPageRequest.limitBytes, answer)
        } then: { [self] result in
            guard persistence?.readers.contains(request.token) == true else { return }
            guard !hasEnded else { return answerReader(request.token, content(.gone)) }
            switch result {
            case .failure(let failure):
                answerReader(request.token, committedContent(.unreadable(failure)))
            case .success(let records):
                // The file may have been trimmed further than memory is.
                if isRunning, !begins(with: records.first) {
                    let page = logPage(request, isTrimmed: true)
                    return answerReader(request.token, committedContent(.logPage(page)))
                }
                var page = Array("{".utf8)
                if request.after != nil { appendReset(records, after: start, to: &page) }
                append(records, after: start, through: end, request.limit, to: &page)
                answerReader(request.token, committedContent(.logPage(page)))
            }
        }
    }

    /// Whether everything that is kept begins with what the journal has first.
    private func begins(with first: HistoryEntry?) -> Bool {
        guard let first else { return false }
        return first.number <= keptPosition(for: .log).nextNumber
    }

    private func appendReset(
        _ records: [HistoryEntry], after start: HistoryPosition, to body: inout [UInt8]
    ) {
        guard let first = records.first, first.number > start.nextNumber else { return }
        Self.appendReset(.trimmed, to: &body)
    }

    private static func appendReset(_ reason: ResetReason, to body: inout [UInt8]) {
        body.append(contentsOf: "\"reset\":{\"reason\":\"\(reason.rawValue)\"},".utf8)
    }

    private func append(
        _ records: [HistoryEntry], after start: HistoryPosition, through end: HistoryPosition,
        _ limit: Int,
        to body: inout [UInt8]
    ) {
        body.append(contentsOf: "\"entries\":[".utf8)
        var last = start
        var isFirst = true
        for record in records.prefix(limit) {
            last = record.position
            guard last <= end, let line = ActionLogLine(record) else { continue }
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            line.append(generation, to: &body)
        }
        body.append(UInt8(ascii: "]"))
        if last < end, !records.isEmpty {
            body.append(contentsOf: ",\"next\":\"\(Position(generation, last).text)\"".utf8)
        }
        body.append(contentsOf: "}\n".utf8)
    }

    /// `{"entries":[…],"next":…}`, or with `"reset":{"reason":…}` before it where the position
    /// can't be continued; then the page begins with the oldest that is kept.
    ///
    /// - Parameter isTrimmed: what the position continues is kept nowhere.
    func logPage(_ request: LogPageRequest, isTrimmed: Bool = false) -> [UInt8] {
        var body = Array("{".utf8)
        var start = keptPosition(for: .log)
        if let text = request.after {
            switch isTrimmed ? .failure(.trimmed) : resumption(text, .log) {
            case .success(let position): start = position.inHistory
            case .failure(let reason): Self.appendReset(reason, to: &body)
            }
        }
        body.append(contentsOf: "\"entries\":[".utf8)
        var count = 0
        var last = start
        var hasMore = false
        for (head, events) in history.slice(after: start, through: history.committed.position) {
            guard let line = line(head, events) else { continue }
            guard count < request.limit, body.count < LogPageRequest.limitBytes else {
                hasMore = true
                break
            }
            if count > 0 { body.append(UInt8(ascii: ",")) }
            line.append(generation, to: &body)
            count += 1
            last = head.position
        }
        body.append(UInt8(ascii: "]"))
        if hasMore {
            body.append(contentsOf: ",\"next\":\"\(Position(generation, last).text)\"".utf8)
        }
        body.append(contentsOf: "}\n".utf8)
        return body
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

/// Who wants to read which page of an action log.
package struct LogPageRequest: Sendable {
    /// The connection's token in the service.
    package var token: UInt64
    /// Everything after this position, as the client sent it; nil: from the oldest that is kept.
    package var after: String?
    /// Entries at the most, at least 1. A page ends sooner when it has a mebibyte.
    package var limit: Int

    static let limitBytes = 1_048_576

    package init(token: UInt64, after: String?, limit: Int) {
        self.token = token
        self.after = after
        self.limit = limit
    }
}
