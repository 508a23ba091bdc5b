internal import JSONCoding
internal import Storage

// Reading the journal.
extension Session {
    /// A read of the archive begins: the session stays in memory until it ends.
    func beginArchiveRead() { persistence?.archiveReads += 1 }

    func endArchiveRead() { persistence?.archiveReads -= 1 }

    /// Reads the archive. The session stays in memory until `act` has returned, unless a commit of it
    /// fails meanwhile.
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

    /// Replies to a request whose answer was read from the journal: it depends on no step that is not
    /// committed, and waits for none.
    func answerReader(_ token: UInt64, _ content: Reply.Content) {
        guard persistence?.readers.remove(token) != nil else { return }
        table.output.reply(content, to: token)
    }

    /// Appends the state as it is shown; `null` if it has no JSON. That it is shown
    /// undecorated is logged.
    ///
    /// - Returns: why it has none.
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

    /// The source of an event of a kept record by its name. Nil: today's reactor has no such pulse,
    /// or the session has as many names of activities as it may.
    func source(of name: String, in kind: HistoryEntry.Kind) -> EventSource? {
        guard kind == .mutation else {
            return activities.index(named: name, in: registration).map { .activity($0) }
        }
        if let index = registration.pulses.firstIndex(of: name) { return .pulse(index) }
        // Journals of before pulses had their coding keys for names.
        return registration.properties.firstIndex(of: name).map { .pulse($0) }
    }
}
