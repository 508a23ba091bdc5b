internal import Cluster
internal import Storage

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif
#if PostgreSQL || Complete
    internal import CPostgres
#endif

/// One connection to PostgreSQL, used on one queue.
///
/// Design: a statement blocks its queue until it is answered, as a write to a file does. At the
/// deadline of a statement, its socket is closed. Why the statement is not cancelled: it may have
/// been committed, and if its wait for a standby is cancelled, PostgreSQL reports a success with a
/// warning. Parameters and results are binary. Statements are prepared when they are first used.
@safe
final class Connection {
    private let raw: OpaquePointer
    private var prepared: [String: String] = [:]
    /// Whether the wait for a standby was cancelled since the last statement began: a commit that
    /// succeeds with that warning has not succeeded.
    private var hasWarned = false
    /// A moment before the present statement was sent.
    private var began = ContinuousClock.now
    /// The end of the time for the present statement.
    private var deadline = ContinuousClock.now
    /// The end of the time for all statements; nil: each has its own.
    var lastDeadline: ContinuousClock.Instant?
    /// The history that it shows, found when it was made; see ``Connector``. Nil before that.
    var mark: DatabaseMark?
    /// The last commit over this connection that is not acknowledged yet; see
    /// ``Connector/acknowledges(_:)``.
    private var commit: (point: CommitPoint, sent: ContinuousClock.Instant)?

    /// Connects.
    ///
    /// - Parameter parameters: As libpq has them; a later one overrides an earlier one, and the
    ///   address is the value of `dbname`. `connect_timeout` bounds the time for each host.
    init(_ parameters: [(name: String, value: String)]) throws(PostgresFault) {
        var names = unsafe parameters.map { unsafe strdup($0.name) }
        var values = unsafe parameters.map { unsafe strdup($0.value) }
        unsafe names.append(nil)
        unsafe values.append(nil)
        defer { unsafe (names + values).forEach { unsafe free($0) } }
        let raw = unsafe PQconnectdbParams(
            names.map { unsafe UnsafePointer($0) }, values.map { unsafe UnsafePointer($0) }, 1)
        guard let raw = unsafe raw else {
            throw PostgresFault(message: "no memory", isBroken: true)
        }
        unsafe self.raw = raw
        guard unsafe PQstatus(raw) == CONNECTION_OK, unsafe PQsetnonblocking(raw, 1) == 0 else {
            // The object is complete: `deinit` closes the connection.
            let parameter = parameters.last { $0.name == "dbname" }?.value ?? ""
            throw PostgresFault(
                message: ConnectionText.isReadable(parameter)
                    ? unsafe String(cString: PQerrorMessage(raw)) : ConnectionText.unreadable,
                isBroken: true)
        }
        unsafe PQsetNoticeReceiver(
            raw,
            { context, notice in
                guard let context = unsafe context, unsafe Connection.isCancelledWait(notice)
                else { return }
                unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().hasWarned =
                    true
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { unsafe PQfinish(raw) }

    /// The options of a connection as libpq reads them, with its services, variables and defaults.
    /// To get them it begins a connection, and drops that at once. Empty if libpq cannot read them.
    static func options(_ parameters: [(name: String, value: String)]) -> [String: String] {
        var names = unsafe parameters.map { unsafe strdup($0.name) }
        var values = unsafe parameters.map { unsafe strdup($0.value) }
        unsafe names.append(nil)
        unsafe values.append(nil)
        defer { unsafe (names + values).forEach { unsafe free($0) } }
        let raw = unsafe PQconnectStartParams(
            names.map { unsafe UnsafePointer($0) }, values.map { unsafe UnsafePointer($0) }, 1)
        guard let raw = unsafe raw else { return [:] }
        defer { unsafe PQfinish(raw) }
        return unsafe ConnectionText.options(PQconninfo(raw))
    }

    /// The process that serves this connection, as the connection says; a pooler may say another.
    var processID: Int64 { Int64(unsafe PQbackendPID(raw)) }

    // MARK: Statements

    /// Executes statements without parameters and results.
    func execute(_ sql: String, within limit: Duration) throws(PostgresFault) {
        begin(limit)
        guard unsafe PQsendQuery(raw, sql) == 1 else { throw unsafe fault(nil) }
        _ = unsafe PQclear(try result())
    }

    func run(
        _ sql: String, _ parameters: Parameters = [], within limit: Duration
    ) throws(PostgresFault) -> Rows {
        begin(limit)
        let name = try prepare(sql, parameters)
        let isSent = unsafe parameters.bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress
            let values = unsafe parameters.places.map { place -> UnsafePointer<CChar>? in
                guard let place, let start = unsafe start else { return nil }
                return unsafe (start + place.offset).assumingMemoryBound(to: CChar.self)
            }
            return unsafe PQsendQueryPrepared(
                raw, name, Int32(values.count), values,
                parameters.places.map { Int32($0?.count ?? 0) },
                [Int32](repeating: 1, count: values.count), 1)
        }
        guard isSent == 1 else { throw unsafe fault(nil) }
        return unsafe Rows(try result())
    }

    /// Executes one statement without preparing it: it works through a pooler of transactions.
    func ask(_ sql: String, within limit: Duration) throws(PostgresFault) -> Rows {
        begin(limit)
        guard unsafe PQsendQueryParams(raw, sql, 0, nil, nil, nil, nil, 1) == 1 else {
            throw unsafe fault(nil)
        }
        return unsafe Rows(try result())
    }

    /// Throws if the last statement has succeeded although its wait for a standby was cancelled: if
    /// it was a commit, it has not succeeded, and its outcome is unknown.
    func refuseWarnings() throws(PostgresFault) {
        guard hasWarned else { return }
        throw PostgresFault(
            message: "a commit's wait for a standby was cancelled", isBroken: true,
            isUnanswered: true)
    }

    /// Records that the last statement has committed.
    ///
    /// - Parameter point: Nil if it has written nothing.
    func noteCommit(_ point: CommitPoint?) {
        if let point { commit = (point, began) }
    }

    /// Returns the last commit that is not acknowledged, which counts as acknowledged from then on.
    func takeCommit() -> (point: CommitPoint, sent: ContinuousClock.Instant)? {
        defer { commit = nil }
        return commit
    }

    /// Whether a wait for a standby was cancelled. Any trigger may send a warning with the same
    /// code (01000), and messages are translated, so the server's function that sends it decides.
    /// Seen in PostgreSQL 15 to 17: `SyncRepWaitForLSN`.
    private static func isCancelledWait(_ notice: OpaquePointer?) -> Bool {
        guard let sender = unsafe PQresultErrorField(notice, Int32(UInt8(ascii: "R"))) else {
            // A server that does not say it: any warning counts.
            return true
        }
        return unsafe String(cString: sender).hasPrefix("SyncRep")
    }

    private func begin(_ limit: Duration) {
        hasWarned = false
        began = ContinuousClock.now
        deadline = began + limit
        if let lastDeadline { deadline = min(deadline, lastDeadline) }
    }

    private func prepare(
        _ sql: String, _ parameters: Parameters
    ) throws(PostgresFault) -> String {
        if let name = prepared[sql] { return name }
        let name = "s\(prepared.count)"
        let isSent = unsafe PQsendPrepare(
            raw, name, sql, Int32(parameters.types.count), parameters.types)
        guard isSent == 1 else { throw unsafe fault(nil) }
        _ = unsafe PQclear(try result())
        prepared[sql] = name
        return name
    }

    // MARK: Waiting

    /// Waits for the end of what was sent.
    private func result() throws(PostgresFault) -> OpaquePointer {
        while unsafe PQflush(raw) == 1 {
            let events = try wait(for: Int16(POLLIN | POLLOUT))
            if events & Int16(POLLIN) != 0 { try read() }
        }
        var last: OpaquePointer?
        var failed: PostgresFault?
        while true {
            while unsafe PQisBusy(raw) == 1 {
                _ = try wait(for: Int16(POLLIN))
                try read()
            }
            guard let next = unsafe PQgetResult(raw) else { break }
            let status = unsafe PQresultStatus(next)
            if status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK, failed == nil {
                failed = unsafe fault(next)
            }
            if let last = unsafe last { unsafe PQclear(last) }
            unsafe last = next
        }
        if let failed {
            if let last = unsafe last { unsafe PQclear(last) }
            throw failed
        }
        guard let last = unsafe last else { throw unsafe fault(nil) }
        return unsafe last
    }

    private func read() throws(PostgresFault) {
        guard unsafe PQconsumeInput(raw) == 1 else { throw unsafe fault(nil) }
    }

    private func wait(for events: Int16) throws(PostgresFault) -> Int16 {
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else {
                throw PostgresFault(
                    message: "no answer in time", isBroken: true, isUnanswered: true)
            }
            var descriptor = pollfd(fd: unsafe PQsocket(raw), events: events, revents: 0)
            let milliseconds = Int32(clamping: Int64(left / .milliseconds(1)) + 1)
            let count = unsafe poll(&descriptor, 1, milliseconds)
            if count > 0 { return descriptor.revents }
            guard count == 0 || errno == EINTR else { throw unsafe fault(nil) }
        }
    }

    private func fault(_ result: OpaquePointer?) -> PostgresFault {
        func field(_ code: UInt8) -> String? {
            guard let result = unsafe result,
                let text = unsafe PQresultErrorField(result, Int32(code))
            else { return nil }
            return unsafe String(cString: text)
        }
        var fault = PostgresFault(
            state: field(UInt8(ascii: "C")), message: unsafe String(cString: PQerrorMessage(raw)),
            isBroken: unsafe PQstatus(raw) != CONNECTION_OK)
        let names = [
            ("table", field(UInt8(ascii: "t"))), ("column", field(UInt8(ascii: "c"))),
            ("constraint", field(UInt8(ascii: "n"))),
        ]
        fault.names = names.compactMap { kind, name in name.map { "\(kind) \($0)" } }
        return fault
    }
}

struct PostgresFault: Error {
    /// The SQLSTATE, if the server has said one.
    var state: String?
    /// This has no secrets, because an address that libpq may split wrongly is refused earlier.
    var message: String
    /// Whether the connection is over. A statement that was under way may have been executed.
    var isBroken: Bool
    /// Whether the server has received the statement, and has not said that it was executed.
    let isUnanswered: Bool
    /// The table, the column and the constraint that the server has named. These are names of the
    /// schema, not values.
    var names: [String] = []

    init(
        state: String? = nil, message: String, isBroken: Bool, isUnanswered: Bool = false
    ) {
        self.state = state
        self.message = message
        self.isUnanswered = isUnanswered
        // The server's process ends (57P..), the connection is broken (08...), or the server takes
        // no writes any more, because another one does (25006).
        let ending = state.map { $0.hasPrefix("57P") || $0.hasPrefix("08") || $0 == "25006" }
        self.isBroken = isBroken || (ending ?? false)
    }

    /// A refusal of this program.
    static func refused(_ message: String) -> PostgresFault {
        PostgresFault(state: Connector.refusedState, message: message, isBroken: false)
    }

    /// A pooler may continue a connection at a standby, whose reads are late.
    static let standby = PostgresFault(
        state: "25006", message: "the server has become a standby", isBroken: true)

    /// Another attempt may reach the present one.
    static let formerPrimary = PostgresFault(
        message: "the server is a former primary: another one has been promoted since",
        isBroken: true)

    /// No host that this node reaches has the newest database that it has heard of.
    static func behind(_ mark: DatabaseMark) -> PostgresFault {
        PostgresFault(
            message:
                "another node has reported a newer database (\(mark)), which this server does not "
                + "reach: it commits and shows nothing until it does; check the hosts of the "
                + "address, or restart this server if that database is gone",
            isBroken: true)
    }

    /// One line.
    var sentence: String {
        let line = message.split(separator: "\n").first.map(String.init) ?? "an error"
        let words = line.hasPrefix("ERROR:  ") ? String(line.dropFirst(8)) : line
        return state.map { "\(words) (\($0))" } ?? words
    }
}

@safe
final class Rows {
    private let raw: OpaquePointer

    fileprivate init(_ raw: OpaquePointer) { unsafe self.raw = raw }

    deinit { unsafe PQclear(raw) }

    var count: Int { Int(unsafe PQntuples(raw)) }

    /// The number of rows that a statement without a result has changed.
    var changed: Int { unsafe Int(String(cString: PQcmdTuples(raw))) ?? 0 }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        unsafe PQgetisnull(raw, Int32(row), Int32(column)) == 1
    }

    func bytes(_ row: Int, _ column: Int) -> [UInt8] {
        let count = unsafe PQgetlength(raw, Int32(row), Int32(column))
        guard count > 0, let start = unsafe PQgetvalue(raw, Int32(row), Int32(column)) else {
            return []
        }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
    }

    /// Of any integer type; 0 for NULL.
    func integer(_ row: Int, _ column: Int) -> Int64 {
        let count = Int(unsafe PQgetlength(raw, Int32(row), Int32(column)))
        guard count > 0, let start = unsafe PQgetvalue(raw, Int32(row), Int32(column)) else {
            return 0
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
        let first: Int64 = unsafe bytes[0] >= 128 ? -1 : 0
        return unsafe bytes.reduce(first) { $0 << 8 | Int64($1) }
    }

    /// A value out of range becomes the nearest one in range. No program writes such a value, but a
    /// damaged row must not end the process.
    func integer(_ row: Int, _ column: Int, in range: ClosedRange<Int64>) -> Int64 {
        min(max(integer(row, column), range.lowerBound), range.upperBound)
    }

    /// A number of a record, a version or an action.
    func number(_ row: Int, _ column: Int) -> UInt64 {
        UInt64(integer(row, column, in: 0...Int64(HistoryPosition.limit - 1)))
    }

    func status(_ row: Int, _ column: Int) -> Int { Int(integer(row, column, in: 200...599)) }

    func begun(_ row: Int, _ column: Int) -> Int { Int(integer(row, column, in: 0...1_000)) }

    func text(_ row: Int, _ column: Int) -> String {
        String(decoding: bytes(row, column), as: UTF8.self)
    }

    func optionalText(_ row: Int, _ column: Int) -> String? {
        isNull(row, column) ? nil : text(row, column)
    }

    /// Nil for NULL, for a number that no node has, and for `own`.
    func node(_ row: Int, _ column: Int, except own: Node? = nil) -> Node? {
        let node = Node(number: integer(row, column))
        guard node.number > 0 else { return nil }
        return node == own ? nil : node
    }

    func bool(_ row: Int, _ column: Int) -> Bool { bytes(row, column) == [1] }
}
