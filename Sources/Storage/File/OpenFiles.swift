/// The identities of a journal's open files, to detect that one was moved or removed.
struct OpenFiles {
    private let path: String
    /// The database file when it was first opened; nil before.
    private var database: FileIdentity?
    /// When the connection was opened; nil while there is none.
    private var log: FileIdentity?
    private var index: FileIdentity?

    init(path: String) {
        self.path = path
    }

    private var logPath: String { path + "-wal" }
    private var indexPath: String { path + "-shm" }

    mutating func recordOpening() {
        database = database ?? FileIdentity(path)
        log = FileIdentity(logPath)
        index = FileIdentity(indexPath)
    }

    var wereOpened: Bool { database != nil }

    var databaseIsAtPath: Bool { database == FileIdentity(path) }

    var areAtPaths: Bool { databaseIsAtPath && log == FileIdentity(logPath) }

    var indexIsAtPath: Bool { index == FileIdentity(indexPath) }
}
