internal import GRDB

/// Reads each session as a server does when it is used. Safe while a server uses the file.
package struct JournalSessions: Sendable {
    private let path: String

    package init(_ path: String) { self.path = path }

    /// Reads one session: its newest snapshot, and the mutations since.
    package typealias Load = () throws(JournalFileFault) -> SavedSession

    /// Passes every live session to `act`, ordered by id: its id and reactor, and its
    /// data on demand.
    ///
    /// All are of the same moment. Memory: one session at a time.
    package func each(_ act: (String, String, Load) -> Void) throws(JournalFileFault) {
        try JournalFile(path).read { database in
            let tail = TailIndex()
            try tail.rebuild(database)
            try database.each("SELECT id, reactor FROM sessions WHERE id IS NOT NULL ORDER BY id") {
                row in
                let id = row.string(0)
                act(id, row.string(1)) { () throws(JournalFileFault) in
                    try Self.load(id, tail, database)
                }
            }
        }
    }

    private static func load(
        _ id: String, _ tail: TailIndex, _ database: Database
    ) throws(JournalFileFault) -> SavedSession {
        do {
            guard let stored = try FileSessionRow(id, in: database) else {
                throw JournalFileFault.unusable("its row has no reactor")
            }
            let waiting = tail.entries(of: stored.row, after: HistoryPosition(0))
            return try SavedSession(stored, waiting: waiting, in: database)
        } catch {
            throw JournalFileFault(error)
        }
    }
}

extension JournalFileFault {
    /// The reason without the file's name, for a part of the file.
    package var reason: String {
        guard case .unusable(let reason) = self else { return sentence("it") }
        return reason
    }
}
