internal import Storage

/// Reads pages of a session's action log, from memory or from the journal.
struct LogReader {
    let session: Session

    /// Reads a page of the entries that are committed when the reply is sent.
    func read(_ request: LogPageRequest) {
        if let start = archivedStart(request) { return readArchive(request, after: start) }
        session.answer(.log(request))
    }

    /// Replies with a page of the entries that are committed now.
    ///
    /// Why the source is decided again: an earlier step may have been committed since the request, and
    /// may have trimmed the page's first entries.
    func deliver(_ request: LogPageRequest) {
        if let start = archivedStart(request) { return readArchive(request, after: start) }
        session.table.output.reply(content(of: page(request), request), to: request.token)
    }

    /// The reply with a page, which counts while it is being sent.
    private func content(of page: [UInt8], _ request: LogPageRequest) -> Reply.Content {
        var content = session.committedContent(.logPage(page))
        do throws(WorkOverload) {
            content.charge = try session.table.feeds.charge(page.count, for: request.token)
            return content
        } catch {
            return session.committedContent(.overBudget)
        }
    }

    /// The position at which the page begins, if only the journal has it.
    private func archivedStart(_ request: LogPageRequest) -> HistoryPosition? {
        guard let archive = session.feed.archive else { return nil }
        var start = HistoryPosition(archive.keptAfter)
        if let text = request.after {
            guard case .success(let position) = session.feed.resumption(text, .log) else {
                return nil
            }
            start = position.inHistory
        }
        return start < session.feed.keptPosition(for: .log) ? start : nil
    }

    private func readArchive(_ request: LogPageRequest, after start: HistoryPosition) {
        let (key, last) = (session.key, session.history.committed.number + 1)
        // Entries whose commit was not yet reported to the session are left for a later page.
        let end = session.feed.committedPosition(for: .log)
        session.persistence?.readers.insert(request.token)
        session.feed.askArchive { archive, answer in
            archive.records(
                of: key, after: start, through: last, limitBytes: LogPage.limitBytes, answer)
        } then: { entries in
            guard session.persistence?.readers.contains(request.token) == true else { return }
            guard !session.hasEnded else {
                return session.answerReader(request.token, session.content(.gone))
            }
            let content: Reply.Content
            switch entries {
            case .failure(let failure): content = session.committedContent(.unreadable(failure))
            case .success(let entries):
                content = self.content(
                    of: page(request, of: entries, after: start, through: end), request)
            }
            session.answerReader(request.token, content)
        }
    }

    /// The page, from the journal.
    private func page(
        _ request: LogPageRequest, of entries: [HistoryEntry], after start: HistoryPosition,
        through end: HistoryPosition
    ) -> [UInt8] {
        // The file may have been trimmed further than memory.
        if session.isReadable, !begins(with: entries.first) {
            return page(request, isTrimmed: true)
        }
        let isTrimmed = entries.first.map { $0.number > start.nextNumber } ?? false
        var page = LogPage(
            after: start, limit: request.limit,
            reset: request.after != nil && isTrimmed ? .trimmed : nil)
        for entry in entries where entry.position <= end {
            guard page.append(ActionLogLine(entry), at: entry.position, session.generation) else {
                break
            }
        }
        return page.finish(through: end, session.generation)
    }

    /// Whether the kept entries begin with the journal's first one.
    private func begins(with first: HistoryEntry?) -> Bool {
        guard let first else { return false }
        return first.number <= session.feed.keptPosition(for: .log).nextNumber
    }

    /// The page, from memory.
    ///
    /// - Parameter isTrimmed: the entry after the requested position is no longer kept.
    private func page(_ request: LogPageRequest, isTrimmed: Bool = false) -> [UInt8] {
        var start = session.feed.keptPosition(for: .log)
        var reset: ResetReason?
        if let text = request.after {
            switch isTrimmed ? .failure(.trimmed) : session.feed.resumption(text, .log) {
            case .success(let position): start = position.inHistory
            case .failure(let reason): reset = reason
            }
        }
        let end = session.feed.committedPosition(for: .log)
        var page = LogPage(after: start, limit: request.limit, reset: reset)
        for (head, events) in session.history.slice(after: start, through: end) {
            let line = session.feed.line(head, events)
            guard page.append(line, at: head.position, session.generation) else { break }
        }
        return page.finish(through: end, session.generation)
    }
}

/// A request for a page of an action log.
package struct LogPageRequest: Sendable {
    /// The connection's token in the service.
    package var token: UInt64
    /// The page begins after this position, as the client sent it; nil: with the oldest kept entry.
    package var after: String?
    /// The maximal number of entries, at least 1. A page of a mebibyte ends earlier.
    package var limit: Int

    package init(token: UInt64, after: String?, limit: Int) {
        self.token = token
        self.after = after
        self.limit = limit
    }
}
