internal import Feeds
internal import Storage

/// Reads pages of a session's action log, from memory or from the journal.
struct LogReader {
    let session: any ReadableSession

    /// Reads a page of the entries that are committed when the reply is sent.
    func read(_ request: LogPageRequest) {
        if let start = archivedStart(request) { return readArchive(request, after: start) }
        session.answer(.log(request))
    }

    /// Replies with a page of the entries that are committed now.
    ///
    /// Why the source is decided again: an earlier step may have been committed since the request,
    /// and may have trimmed the page's first entries.
    func deliver(_ request: LogPageRequest) {
        if let start = archivedStart(request) { return readArchive(request, after: start) }
        let room = PageRoom(request, in: session.table)
        let page = page(request, room)
        session.table.output.reply(content(of: page, request, room), to: request.token)
    }

    /// The reply with a page, which counts while it is being sent.
    private func content(
        of page: [UInt8], _ request: LogPageRequest, _ room: PageRoom
    ) -> Reply.Content {
        var content = session.committedContent(.logPage(page))
        let table = session.table
        do throws(WorkOverload) {
            content.charge = try table.feeds.adjust(
                room.charge, to: page.count, for: table.output.client(of: request.token))
            return content
        } catch {
            return session.committedContent(.overBudget)
        }
    }

    /// The maximum bytes of a page. If the ``WorkBudget`` has no room for the largest page, the
    /// page ends earlier, with so few bytes that they do not count.
    private struct PageRoom {
        let limitBytes: Int
        /// Of the entries while they are read, and of the page.
        let charge: WorkCharge?

        init(_ request: LogPageRequest, in table: SessionTable) {
            charge = try? table.feeds.charge(2 * LogPage.limitBytes, for: request.token)
            limitBytes = charge == nil ? WorkBudget.smallestBytes / 2 : LogPage.limitBytes
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
        let (table, token) = (session.table, request.token)
        session.feed.archive?.readers.insert(token)
        let isWanted = { [session] in session.feed.archive?.readers.contains(token) ?? false }
        // The session stays in memory while the read waits for others.
        session.feed.beginArchiveRead()
        table.feeds.rebuilds.addPage(
            RebuildQueue.Request(client: table.output.client(of: token), isWanted: isWanted),
            in: table.feeds
        ) { turn in
            switch turn {
            case .unwanted: session.feed.endArchiveRead()
            case .refused:
                session.answerReader(token, session.committedContent(.overBudget))
                session.feed.endArchiveRead()
            case .begun:
                readArchive(request, after: start, isWanted) {
                    table.feeds.rebuilds.end(.page, in: table.feeds)
                    session.feed.endArchiveRead()
                }
            }
        }
    }

    private func readArchive(
        _ request: LogPageRequest, after start: HistoryPosition, _ isWanted: @escaping () -> Bool,
        then ended: @escaping () -> Void
    ) {
        let (key, last) = (session.key, session.feed.history.committed.number + 1)
        // Entries whose commit was not yet reported to the session are left for a later page.
        let end = session.feed.committedPosition(for: .log)
        let room = PageRoom(request, in: session.table)
        session.feed.askArchive { archive, answer in
            archive.records(
                of: key, after: start, through: last, limit: request.limit,
                limitBytes: room.limitBytes, answer)
        } then: { entries in
            defer { ended() }
            guard isWanted() else { return }
            guard !session.hasEnded else {
                return session.answerReader(request.token, session.content(.gone))
            }
            let content: Reply.Content
            switch entries {
            case .failure(let failure): content = session.committedContent(.unreadable(failure))
            case .success(let entries):
                content = self.content(
                    of: page(request, room, of: entries, after: start, through: end), request,
                    room)
            }
            session.answerReader(request.token, content)
        }
    }

    /// The page, from the journal.
    private func page(
        _ request: LogPageRequest, _ room: PageRoom, of entries: [HistoryEntry],
        after start: HistoryPosition, through end: HistoryPosition
    ) -> [UInt8] {
        // The file may have been trimmed further than memory.
        if session.isReadable, !begins(with: entries.first) {
            return page(request, room, isTrimmed: true)
        }
        let isTrimmed = entries.first.map { $0.number > start.nextNumber } ?? false
        var page = LogPage(
            after: start, limit: request.limit, limitBytes: room.limitBytes,
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
    private func page(
        _ request: LogPageRequest, _ room: PageRoom, isTrimmed: Bool = false
    ) -> [UInt8] {
        var start = session.feed.keptPosition(for: .log)
        var reset: ResetReason?
        if let text = request.after {
            switch isTrimmed ? .failure(.trimmed) : session.feed.resumption(text, .log) {
            case .success(let position): start = position.inHistory
            case .failure(let reason): reset = reason
            }
        }
        let end = session.feed.committedPosition(for: .log)
        var page = LogPage(
            after: start, limit: request.limit, limitBytes: room.limitBytes, reset: reset)
        for (head, events) in session.feed.history.slice(after: start, through: end) {
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
    /// The maximum number of entries, at least 1. A page ends earlier at a mebibyte, or at 32 KiB
    /// if there is no room for a large page.
    package var limit: Int

    package init(token: UInt64, after: String?, limit: Int) {
        self.token = token
        self.after = after
        self.limit = limit
    }
}
