internal import GRDB
internal import GRDBSQLite

// Why not GRDB's arguments and rows: an array of boxed values for each row was half of a commit's
// time, and texts would be converted to strings before their bytes are used.
extension Database {
    func run(_ sql: String, _ values: BoundValue...) throws {
        try cachedStatement(sql: sql).each(values) { _ in false }
    }

    func first<Value>(
        _ sql: String, _ values: BoundValue..., make: (FoundRow) throws -> Value
    ) throws -> Value? {
        try cachedStatement(sql: sql).first(values, make)
    }

    /// Passes each row to `act`, which must not use the same statement.
    func each(_ sql: String, _ values: BoundValue..., act: (FoundRow) throws -> Void) throws {
        try cachedStatement(sql: sql).each(values) { row in
            try act(row)
            return true
        }
    }

    /// The first column of the first row.
    func integer(_ sql: String, _ values: BoundValue...) throws -> Int64? {
        try cachedStatement(sql: sql).first(values) { $0.isNull(0) ? nil : $0.integer(0) } ?? nil
    }
}

/// For a statement that is run many times.
extension Statement {
    func run(_ values: BoundValue...) throws {
        try each(values) { _ in false }
    }

    func first<Value>(
        _ values: BoundValue..., make: (FoundRow) throws -> Value
    ) throws -> Value? {
        try first(values, make)
    }

    fileprivate func first<Value>(
        _ values: [BoundValue], _ make: (FoundRow) throws -> Value
    ) throws -> Value? {
        var found: Value?
        try each(values) { row in
            found = try make(row)
            return false
        }
        return found
    }

    func each(_ values: BoundValue..., act: (FoundRow) throws -> Bool) throws {
        try each(values, act)
    }

    fileprivate func each(_ values: [BoundValue], _ act: (FoundRow) throws -> Bool) throws {
        let statement = unsafe sqliteStatement
        defer {
            unsafe sqlite3_reset(statement)
            unsafe sqlite3_clear_bindings(statement)
        }
        var large: Int?
        for (index, value) in values.enumerated() {
            if large == nil, value.isLarge {
                large = index
            } else {
                try check(unsafe value.bind(to: statement, at: CInt(index + 1)), SQLITE_OK)
            }
        }
        guard let large, case .text(let bytes) = values[large] else { return try step(act) }
        try unsafe bytes.withUnsafeBytes { bytes in
            let code = unsafe sqlite3_bind_text(
                statement, CInt(large + 1), bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                CInt(bytes.count), nil)
            try check(code, SQLITE_OK)
            try step(act)
        }
    }

    private func step(_ act: (FoundRow) throws -> Bool) throws {
        let statement = unsafe sqliteStatement
        while true {
            let code = unsafe sqlite3_step(statement)
            guard code == SQLITE_ROW else { return try check(code, SQLITE_DONE) }
            guard try act(unsafe FoundRow(statement: statement)) else { return }
        }
    }

    private func check(_ code: CInt, _ wanted: CInt) throws {
        guard code != wanted else { return }
        throw DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: unsafe String(
                cString: sqlite3_errmsg(sqlite3_db_handle(sqliteStatement))))
    }
}

/// The current row of a statement. Invariant: used only inside the call that passes it.
@safe struct FoundRow {
    fileprivate let statement: OpaquePointer

    fileprivate init(statement: OpaquePointer) { unsafe self.statement = statement }

    func integer(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

    /// Reads a value that ``BoundValue/number(_:)`` has written. Throws ``JournalFileFault``:
    /// another program has written a negative number.
    func number(_ column: CInt) throws(JournalFileFault) -> UInt64 {
        guard let number = UInt64(exactly: integer(column)) else {
            throw .unusable(
                "it has the negative number \(integer(column)) where only 0 or more is valid")
        }
        return number
    }

    func isNull(_ column: CInt) -> Bool {
        unsafe sqlite3_column_type(statement, column) == SQLITE_NULL
    }

    /// A text or a blob; empty for NULL.
    func bytes(_ column: CInt) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(statement, column) else { return [] }
        let count = unsafe sqlite3_column_bytes(statement, column)
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
    }

    func string(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }

    func optionalString(_ column: CInt) -> String? { isNull(column) ? nil : string(column) }

    func optionalInteger(_ column: CInt) -> Int64? { isNull(column) ? nil : integer(column) }
}

extension Database {
    /// Like `inTransaction(.immediate)`, but with cached statements.
    func inWriteTransaction(_ act: () throws -> Void) throws {
        try run("BEGIN IMMEDIATE")
        do {
            try act()
            try run("COMMIT")
        } catch {
            // The failure may have ended the transaction already.
            if isInsideTransaction { try? run("ROLLBACK") }
            throw error
        }
    }

    /// The result of the query plus one, at least 1. Throws ``JournalFileFault``: beyond the limit,
    /// which this program never reaches.
    func next(after sql: String) throws -> Int64 {
        let last = max(0, try integer(sql) ?? 0)
        guard last < Int64.max else { throw JournalFileFault.unusable("\(sql) is \(last)") }
        return last + 1
    }
}

enum BoundValue {
    case integer(Int64)
    case text([UInt8])
    case string(String)
    case blob([UInt8])
    case null

    static func number(_ number: UInt64) -> BoundValue { .integer(Int64(bitPattern: number)) }

    /// Whether SQLite reads the bytes where they are, and does not copy them first.
    fileprivate var isLarge: Bool {
        if case .text(let bytes) = self { bytes.count > 65_536 } else { false }
    }

    /// SQLite copies the bytes (`SQLITE_TRANSIENT`).
    fileprivate func bind(to statement: OpaquePointer?, at index: CInt) -> CInt {
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        func bindText(_ bytes: UnsafeRawBufferPointer) -> CInt {
            guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else {
                return unsafe sqlite3_bind_text(statement, index, "", 0, transient)
            }
            return unsafe sqlite3_bind_text(
                statement, index, start.assumingMemoryBound(to: CChar.self), CInt(bytes.count),
                transient)
        }
        switch self {
        case .integer(let number): return unsafe sqlite3_bind_int64(statement, index, number)
        case .text(let bytes): return unsafe bytes.withUnsafeBytes(bindText)
        // With its length, because a text may contain NUL.
        case .string(var text): return text.withUTF8 { unsafe bindText(.init($0)) }
        case .blob(let bytes):
            // A null pointer would be bound as NULL.
            guard !bytes.isEmpty else { return unsafe sqlite3_bind_zeroblob(statement, index, 0) }
            return unsafe bytes.withUnsafeBytes { buffer in
                unsafe sqlite3_bind_blob(
                    statement, index, buffer.baseAddress, CInt(buffer.count), transient)
            }
        case .null: return unsafe sqlite3_bind_null(statement, index)
        }
    }
}
