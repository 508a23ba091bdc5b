internal import GRDB
internal import GRDBSQLite

// Why not GRDB's arguments: an array of boxed values for each row was half of a commit's time.
extension Statement {
    /// Runs the statement once for these values, in the order of its parameters.
    func run(_ values: BoundValue...) throws {
        let statement = unsafe sqliteStatement
        unsafe sqlite3_reset(statement)
        for (index, value) in values.enumerated() {
            unsafe value.bind(to: statement, at: CInt(index + 1))
        }
        let code = unsafe sqlite3_step(statement)
        defer {
            unsafe sqlite3_reset(statement)
            unsafe sqlite3_clear_bindings(statement)
        }
        guard code == SQLITE_DONE || code == SQLITE_ROW else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: unsafe String(cString: sqlite3_errmsg(sqlite3_db_handle(statement))))
        }
    }
}

/// A value for a parameter of a statement.
enum BoundValue {
    case integer(Int64)
    case text([UInt8])
    case string(String)
    case blob([UInt8])
    case null

    static func number(_ number: UInt64) -> BoundValue { .integer(Int64(bitPattern: number)) }

    // SQLITE_TRANSIENT: SQLite copies what it is given.
    fileprivate func bind(to statement: OpaquePointer?, at index: CInt) {
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch self {
        case .integer(let number): _ = unsafe sqlite3_bind_int64(statement, index, number)
        case .text(let bytes):
            unsafe bytes.withUnsafeBytes { buffer in
                let start = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
                if let start = unsafe start {
                    _ = unsafe sqlite3_bind_text(
                        statement, index, start, CInt(buffer.count), transient)
                } else {
                    _ = unsafe sqlite3_bind_text(statement, index, "", 0, transient)
                }
            }
        case .string(let text): _ = unsafe sqlite3_bind_text(statement, index, text, -1, transient)
        case .blob(let bytes):
            unsafe bytes.withUnsafeBytes { buffer in
                _ = unsafe sqlite3_bind_blob(
                    statement, index, buffer.baseAddress, CInt(buffer.count), transient)
            }
        case .null: _ = unsafe sqlite3_bind_null(statement, index)
        }
    }
}
