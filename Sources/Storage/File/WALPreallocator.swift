internal import GRDB
internal import GRDBSQLite

/// Grows the write-ahead log in pieces, ahead of the commits that fill them.
///
/// Why: flushing a write that extends a file takes twice as long as flushing one that overwrites
/// it, because of the file system's own journal (measured on ext4: 0.27 ms against 0.14). Each
/// commit would pay for this until the log has the length at which it restarts.
///
/// SQLite treats zeros after its last frame as the log's end: it expects earlier frames there.
/// Source: its file format, §4.3 and §4.4, and `walDecodeFrame`, which accepts no frame of page 0.
struct WALPreallocator {
    /// 256 KiB: a larger piece would slow down the commit that flushes it.
    private static let pieceBytes: Int64 = 262_144
    /// The bytes of one write. SQLite on Unix writes nothing for 128 KiB (`seekAndWriteFd`).
    private static let zeros = [UInt8](repeating: 0, count: 65_536)
    /// The sizes of the header before each frame's page, and of the header before the first frame.
    private static let frameHeaderBytes: Int64 = 24
    private static let fileHeaderBytes: Int64 = 32

    private let frameBytes: Int64

    init(_ database: Database) throws {
        frameBytes =
            try database.integer("PRAGMA page_size").map { $0 + Self.frameHeaderBytes } ?? 0
    }

    /// Adds a piece if less than a piece is left after the log's last frame.
    ///
    /// - Precondition: Called at the start of a write transaction. Its lock keeps other writers,
    ///   including other programs, from adding frames at the position of the zeros.
    func make(beyond frames: Int, _ database: Database) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let found = unsafe sqlite3_file_control(
            database.sqliteConnection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        // Not before the first commit has created the log.
        guard found == SQLITE_OK, frames > 0, let file = unsafe file,
            let methods = unsafe file.pointee.pMethods
        else { return }
        var size: Int64 = 0
        guard unsafe methods.pointee.xFileSize(file, &size) == SQLITE_OK else { return }
        let used = Self.fileHeaderBytes + Int64(frames) * frameBytes
        guard size - used < Self.pieceBytes, size >= used else { return }
        // If this fails, the commit that needs the space fails and reports the reason.
        for place in stride(from: size, to: size + Self.pieceBytes, by: Self.zeros.count) {
            let code = unsafe Self.zeros.withUnsafeBytes {
                unsafe methods.pointee.xWrite(file, $0.baseAddress, Int32($0.count), place)
            }
            guard code == SQLITE_OK else { return }
        }
    }
}
