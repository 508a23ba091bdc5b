internal import JSONCoding
internal import Storage

// Reads of the archive, and its values as they are shown.
extension Session {
    /// Begins a read of the archive. The session stays in memory until ``endArchiveRead()``.
    func beginArchiveRead() { persistence?.archiveReads += 1 }

    func endArchiveRead() { persistence?.archiveReads -= 1 }

    /// Reads the archive. The session stays in memory until `act` has returned, unless one of its
    /// commits fails meanwhile.
    func askArchive<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        beginArchiveRead()
        table.ask(question) { [self] result in
            act(result)
            endArchiveRead()
        }
    }

    /// Reads the session's records or snapshots, also of a followed session that has ended. Otherwise the
    /// same as ``askArchive(_:then:)``.
    func askHistory<Value: Sendable>(
        _ question: (any HistoryArchive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        let isOver = persistence?.following?.isOver ?? false
        let ended = isOver ? table.journal.ownership?.endedSessions : nil
        askArchive({ archive, answer in question(ended ?? archive, answer) }, then: act)
    }

    /// Replies to a request whose answer was read from the archive. The answer depends on no
    /// uncommitted step and waits for none.
    func answerReader(_ token: UInt64, _ content: Reply.Content) {
        guard persistence?.readers.remove(token) != nil else { return }
        table.output.reply(content, to: token)
    }

    /// Appends the state as clients see it; `null` if it has no JSON. A decoration that has no JSON is
    /// logged, and the state is appended without it.
    ///
    /// - Returns: why the state has no JSON.
    @discardableResult
    func append(_ fold: any StateFold, to out: inout [UInt8]) -> JSONEncodingFailure? {
        do throws(JSONEncodingFailure) {
            if let error = try fold.encodeShown(to: &out) {
                report(
                    .failed(
                        place: "transformState",
                        error: "version \(fold.version) and others are shown bare: \(error)"))
            }
            return nil
        } catch {
            out.append(contentsOf: EventFramer.null)
            report(.unencodable("the state", error.description))
            return error
        }
    }

    /// The source of an event of a stored record, by its name. Nil if today's reactor has no such
    /// pulse, or if the session has reached the limit of names of activities.
    func source(of name: String, in kind: HistoryEntry.Kind) -> EventSource? {
        guard kind == .mutation else {
            return activities.index(named: name, in: registration).map { .activity($0) }
        }
        if let index = registration.pulses.firstIndex(of: name) { return .pulse(index) }
        // Older journals name pulses by their coding keys.
        return registration.properties.firstIndex(of: name).map { .pulse($0) }
    }
}
