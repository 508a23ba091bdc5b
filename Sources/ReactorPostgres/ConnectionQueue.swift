internal import Dispatch
internal import Storage
internal import Synchronization

/// One connection on a queue of its own, which is made again when it was lost.
final class ConnectionQueue: @unchecked Sendable {
    let connector: Connector
    private let name: String
    private let settings: String?
    private let purpose: Connector.Purpose
    private let queue: DispatchQueue
    /// On the queue.
    var connection: Connection?
    /// The last attempt to connect, if it has failed.
    private let failed = Mutex<(at: ContinuousClock.Instant, fault: PostgresFault)?>(nil)

    /// - Parameter name: Says in `pg_stat_activity` what the connection is for.
    init(
        _ connector: Connector, _ name: String, for purpose: Connector.Purpose = .history,
        settings: String? = nil
    ) {
        self.connector = connector
        self.name = name
        self.purpose = purpose
        self.settings = settings
        queue = DispatchQueue(label: "journal.postgres.\(name)")
    }

    /// The fault of the last attempt to connect; nil once one has succeeded.
    var failure: JournalFailure? { failed.withLock { $0?.fault }.map(JournalFailure.init) }

    /// Connects.
    func open() throws(PostgresFault) { try sync { () throws(PostgresFault) in _ = try connect() } }

    /// Tries to connect again if the last attempt has failed.
    func look() {
        async { [self] in
            if failed.withLock({ $0 != nil }) { _ = try? connect() }
        }
    }

    /// Later calls find no connection that is left open.
    func close() async {
        await queue.run { [self] in connection = nil }
    }

    func async(_ act: @escaping @Sendable () -> Void) { queue.async(execute: act) }

    func async(after pause: Duration, _ act: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + pause / .seconds(1), execute: act)
    }

    /// Blocks the present queue.
    static func wait(_ time: Duration) {
        let semaphore = DispatchSemaphore(value: 0)
        _ = semaphore.wait(timeout: .now() + time / .seconds(1))
    }

    func sync<Value>(_ act: () throws(PostgresFault) -> Value) throws(PostgresFault) -> Value {
        try queue.sync { Result { () throws(PostgresFault) in try act() } }.get()
    }

    // MARK: On the queue

    /// Acts once more if a connection was lost that had been made before, which may have been long
    /// ago, and if it was of an earlier era: what it has shown is not believed.
    func run<Value>(
        _ act: (Connection) throws(PostgresFault) -> Value
    ) throws(PostgresFault) -> Value { try read(act).value }

    /// The same, with the read that may have to be proved.
    func read<Value>(
        _ act: (Connection) throws(PostgresFault) -> Value
    ) throws(PostgresFault) -> (value: Value, reading: Reading) {
        let isNew = connection == nil
        do throws(PostgresFault) {
            let present = try connect()
            let value = try act(present)
            if let reading = connector.reading(over: present) { return (value, reading) }
            connection = nil
        } catch {
            // In any case: it may have been left in the middle of something.
            connection = nil
            guard error.isBroken, !isNew else { throw error }
        }
        return try read(act)
    }

    /// For a second nobody waits again for a database that does not answer.
    func connect() throws(PostgresFault) -> Connection {
        if let connection { return connection }
        if let failed = failed.withLock({ $0 }), ContinuousClock.now - failed.at < .seconds(1) {
            throw failed.fault
        }
        do throws(PostgresFault) {
            let fresh = try connector.connect(name, for: purpose).connection
            if let settings { try fresh.execute(settings, within: Connector.limit) }
            failed.withLock { $0 = nil }
            connection = fresh
            return fresh
        } catch {
            failed.withLock { $0 = (ContinuousClock.now, error) }
            throw error
        }
    }
}
