internal import GRDB
internal import GRDBSQLite

/// Which database a write-ahead log belongs to: 32 random digits in both (ADR-0070).
///
/// Why: SQLite applies any valid log that it finds beside a file. If a copy has replaced the file
/// of a killed server, the old log would mix both contents, or undo the restoration.
///
/// Each start and each backup draws another mark, so an earlier copy has another mark than the lock
/// file. A file of an earlier release has none, and gets one at its first start.
struct FileMark: Equatable, Sendable {
    let text: String

    private static let count = 32

    /// A new one.
    init() {
        var randomness = SystemRandomNumberGenerator()
        text = String(
            decoding: (0..<Self.count).map { _ in
                Array("0123456789abcdef".utf8)[Int.random(in: 0..<16, using: &randomness)]
            }, as: UTF8.self)
    }

    init?(_ text: some StringProtocol) {
        let isMark =
            text.utf8.count == Self.count
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard isMark else { return nil }
        self.text = String(text)
    }

    /// One row; not part of the schema's version: an earlier program ignores it.
    private static let table = "CREATE TABLE IF NOT EXISTS mark(text TEXT NOT NULL) STRICT"

    /// Makes the table, if it is missing. Returns the page of the file that has the mark.
    static func prepare(_ database: Database) throws -> Int {
        try database.execute(sql: table)
        let page = try database.integer("SELECT rootpage FROM sqlite_master WHERE name = 'mark'")
        return Int(page ?? 0)
    }

    /// The mark as readers see it: in the file, or in the log.
    static func present(_ database: Database) throws -> FileMark? {
        try String.fetchOne(database, sql: "SELECT text FROM mark").flatMap { FileMark($0) }
    }

    func write(_ database: Database) throws {
        try database.run("INSERT OR REPLACE INTO mark(rowid, text) VALUES(1, ?)", .string(text))
    }

    /// The mark in the file itself, without the log; nil if the page has none.
    ///
    /// Why not by a query: a connection also reads the log, unless it opens the file as immutable.
    /// An immutable one takes no locks, and on closing would drop the locks of this process.
    static func inFile(_ path: String, page: Int) -> FileMark? {
        var connection: OpaquePointer?
        defer { unsafe sqlite3_close(connection) }
        guard unsafe sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK
        else { return nil }
        var file: UnsafeMutablePointer<sqlite3_file>?
        let found = unsafe sqlite3_file_control(
            connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard found == SQLITE_OK, let file = unsafe file else { return nil }
        func read(_ count: Int, at place: Int) -> [UInt8]? {
            guard let methods = unsafe file.pointee.pMethods else { return nil }
            var bytes = [UInt8](repeating: 0, count: count)
            let code = unsafe bytes.withUnsafeMutableBytes {
                unsafe methods.pointee.xRead(file, $0.baseAddress, Int32(count), Int64(place))
            }
            return code == SQLITE_OK ? bytes : nil
        }
        // The size of a page is in the file's header; 1 means 65 536 (file format, §1.3.2).
        guard page > 1, let header = read(2, at: 16) else { return nil }
        let size = Int(header[0]) << 8 | Int(header[1])
        let pageBytes = size == 1 ? 65_536 : size
        guard pageBytes >= 512, let bytes = read(pageBytes, at: (page - 1) * pageBytes) else {
            return nil
        }
        return FileMark(page: bytes)
    }

    /// The only cell of a leaf of a table (file format, §1.6 and §2.1).
    private init?(page: [UInt8]) {
        // A leaf of a table; one cell.
        guard page[0] == 0x0D, page[3] == 0, page[4] == 1 else { return nil }
        let cell = Int(page[8]) << 8 | Int(page[9])
        // The bytes of the row, its rowid, and its header: its own length and the type of the text.
        let head = [UInt8(2 + Self.count), 1, 2, UInt8(13 + 2 * Self.count)]
        let end = cell + head.count + Self.count
        guard end <= page.count, Array(page[cell..<cell + head.count]) == head else { return nil }
        self.init(String(decoding: page[cell + head.count..<end], as: UTF8.self))
    }
}

/// Names a journal: 32 random digits, which its copies keep.
enum JournalOrigin {
    /// Draws it at the first start, unless the file has one.
    static func prepare(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS origin(text TEXT NOT NULL) STRICT;
                INSERT INTO origin SELECT lower(hex(randomblob(16)))
                    WHERE NOT EXISTS (SELECT 1 FROM origin)
                """)
    }

    /// Nil before the first start of a server of this version.
    static func present(_ database: Database) throws -> String? {
        guard try database.tableExists("origin") else { return nil }
        return try String.fetchOne(database, sql: "SELECT text FROM origin")
    }
}

/// The second line of a lock file: the marks of the database beside the log.
struct MarkNote: Equatable, Sendable {
    var page: Int
    /// The marks that the file may have: several while a new one is not known to be in it.
    var marks: [FileMark]

    private static let limit = 8

    init(page: Int, marks: [FileMark]) {
        self.page = page
        self.marks = []
        for mark in marks where !self.marks.contains(mark) && self.marks.count < Self.limit {
            self.marks.append(mark)
        }
    }

    /// Nil for a line that is no note: an earlier release's, or a torn one.
    init?(line: some StringProtocol) {
        let words = line.split(separator: " ")
        let marks = words.dropFirst().compactMap { FileMark($0) }
        guard let page = words.first.flatMap({ Int($0) }), !marks.isEmpty,
            marks.count == words.count - 1
        else { return nil }
        self.init(page: page, marks: marks)
    }

    var line: String { "\(page) \(marks.map(\.text).joined(separator: " "))" }
}
