/// Whether the write-ahead log beside a journal's file may be applied to it.
///
/// Each opening of a journal asks first: a server, and the tools, which read through the log.
enum LogInspection {
    /// A log in use may be read in the middle of a change. Such a fault is gone at the next look.
    private static let looks = 3

    static func verify(_ path: String) throws(JournalFileFault) {
        try verifyOwner(path)
        let log = log(path)
        guard var last = LogFrames(log), last.damage != nil else { return }
        for _ in 1..<looks {
            guard let again = LogFrames(log), let damage = again.damage else { return }
            guard again != last else {
                throw .damagedLog(frame: damage.frame, later: damage.later)
            }
            last = again
        }
    }

    /// Whether the file is the one that the lock file names, or the log is empty. Throws
    /// `foreignLog`.
    static func verifyOwner(_ path: String) throws(JournalFileFault) {
        for _ in 1...looks {
            // Read before the file, because a server notes a mark before it writes it.
            guard let note = JournalLock.recorded(beside: path) else { return }
            if let mark = FileMark.inFile(path, page: note.page), note.marks.contains(mark) {
                return
            }
            guard let frames = LogFrames(log(path)), frames.valid > 0 || frames.damage != nil
            else { return }
        }
        throw .foreignLog
    }

    /// SQLite keeps it beside the file itself, not beside a symbolic link to it.
    static func log(_ path: String) -> String { JournalLock.file(path) + "-wal" }
}
