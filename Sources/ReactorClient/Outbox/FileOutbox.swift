package import ClientMachine
internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

// Design: changes gather under a lock; a queue of its own writes all of them as one line and
// flushes once. Sessions share a flush, and only the queue waits for the disk.

/// An outbox in a file (ADR-0042): a program that is killed continues with it.
///
/// A file belongs to one account of one user; several programs, or several accounts, have a file
/// each. Bounds: those of the outbox (`ClientLimits`), 1 024 states, 64 MiB of them; the file
/// itself has at most about twice that, since it is rewritten when most of it is dead.
package final class FileOutbox: OutboxStore {
    private struct Gathered {
        var report: (@Sendable (OutboxReport) -> Void)?
        var changes: [OutboxChange] = []
        /// The number of the newest of them.
        var number: UInt64?
        /// The newest that are not written. Invariant: bounded by the followed sessions.
        var states: [SessionName: SavedState?] = [:]
        var areStatesDue = false
        /// Whether the queue has a job that writes, now or after a failure. It has one at most, so
        /// that attempts on a full disk do not multiply; another one may only be that of the end.
        var isScheduled = false
        /// Failures to write since the last success.
        var backoff = Backoff()
        /// Whether the queue has a job that makes states due.
        var isWaiting = false
        var hasFailed = false
        var isClosed = false
    }

    private struct Opened {
        var file: OutboxFile
        let lock: OutboxLock
    }

    private let path: String
    private let account: String?
    package let keepsStates: Bool
    private let stateInterval: Duration
    private let disk: any OutboxDisk
    private let gathered = Mutex(Gathered())
    /// Nil before it is opened, and after it is closed. Held while the disk is waited for.
    private let opened = Mutex<Opened?>(nil)
    private let queue = DispatchQueue(label: "reactor-client.outbox")

    /// - Parameters:
    ///   - path: of the file, in a folder that exists. `<path>.lock` and `<path>.new` are used too.
    ///   - account: whose actions it keeps. A file of another account cannot be opened.
    ///   - keepsStates: whether it keeps the last confirmed states as well.
    package convenience init(
        _ path: String, account: String? = nil, keepsStates: Bool = false,
        stateInterval: Duration = .seconds(5)
    ) {
        self.init(
            path, account: account, keepsStates: keepsStates, stateInterval: stateInterval,
            on: SystemDisk())
    }

    init(
        _ path: String, account: String?, keepsStates: Bool, stateInterval: Duration,
        on disk: any OutboxDisk
    ) {
        self.path = Self.resolved(path)
        self.account = account
        self.keepsStates = keepsStates
        self.stateInterval = stateInterval
        self.disk = disk
    }

    deinit { release() }

    package func open(
        _ report: @escaping @Sendable (OutboxReport) -> Void
    ) throws(OutboxUnavailable) -> SavedOutbox {
        let lock = try OutboxLock(for: path)
        let file: OutboxFile
        do throws(OutboxUnavailable) {
            file = try OutboxFile(path, account: account, keepsStates: keepsStates, on: disk)
        } catch {
            lock.release()
            throw error
        }
        gathered.withLock { $0.report = report }
        opened.withLock { $0 = Opened(file: file, lock: lock) }
        return SavedOutbox(file.contents.outbox, states: file.contents.states)
    }

    package func write(_ number: UInt64, _ changes: [OutboxChange]) {
        gathered.withLock { gathered in
            guard !gathered.hasFailed, !gathered.isClosed else { return }
            gathered.changes += changes
            gathered.number = number
            schedule(&gathered)
        }
    }

    package func saveState(_ state: SavedState?, of session: SessionName, isLast: Bool) {
        guard keepsStates else { return }
        gathered.withLock { gathered in
            guard !gathered.hasFailed, !gathered.isClosed else { return }
            gathered.states.updateValue(state, forKey: session)
            if isLast {
                gathered.areStatesDue = true
                schedule(&gathered)
            } else if !gathered.isWaiting {
                gathered.isWaiting = true
                queue.asyncAfter(deadline: .now() + stateInterval / .seconds(1)) { [weak self] in
                    self?.makeStatesDue()
                }
            }
        }
    }

    package func close() async {
        let isFirst = gathered.withLock { gathered in
            defer {
                gathered.isClosed = true
                gathered.areStatesDue = true
            }
            return !gathered.isClosed
        }
        guard isFirst else { return }
        await withCheckedContinuation { continuation in
            queue.async {
                self.flush()
                self.release()
                self.gathered.withLock { $0.report = nil }
                continuation.resume()
            }
        }
    }

    private func schedule(_ gathered: inout Gathered) {
        guard !gathered.isScheduled else { return }
        gathered.isScheduled = true
        queue.async { self.flush() }
    }

    // MARK: On the queue

    private func makeStatesDue() {
        gathered.withLock { gathered in
            gathered.isWaiting = false
            gathered.areStatesDue = true
            schedule(&gathered)
        }
    }

    private func flush() {
        let work = gathered.withLock { gathered -> Gathered in
            let work = gathered
            gathered.changes = []
            gathered.number = nil
            if gathered.areStatesDue { gathered.states = [:] }
            gathered.areStatesDue = false
            return work
        }
        guard !work.hasFailed else { return }
        do throws(OutboxFile.Failure) {
            try writeChanges(work)
            if work.areStatesDue { try writeStates(work.states) }
            try change { file throws(OutboxFile.Failure) in try file.rewriteIfWorthwhile() }
            gathered.withLock { gathered in
                gathered.backoff.reset()
                gathered.isScheduled = false
                if gathered.number != nil || gathered.areStatesDue { schedule(&gathered) }
            }
        } catch {
            let fault = OutboxUnavailable("the outbox \(path) cannot be written: \(error.reason)")
            if case .rolledBack = error { return tryLater(work, fault) }
            gathered.withLock { $0.hasFailed = true }
            work.report?(.failed(fault))
        }
    }

    /// The disk may have room later. ``OutboxFile`` keeps the changes until then.
    private func tryLater(_ work: Gathered, _ fault: OutboxUnavailable) {
        var generator = SystemRandomNumberGenerator()
        let wait = gathered.withLock { gathered -> Duration? in
            guard !gathered.isClosed else { return nil }
            gathered.number = gathered.number ?? work.number
            gathered.states.merge(work.areStatesDue ? work.states : [:]) { newer, _ in newer }
            gathered.areStatesDue = gathered.areStatesDue || work.areStatesDue
            // Later changes wait for the same attempt: the queue still has its one job.
            return gathered.backoff.fail(using: &generator)
        }
        guard let wait else { return }
        work.report?(.delayed(wait, fault))
        queue.asyncAfter(deadline: .now() + wait / .seconds(1)) { [weak self] in self?.flush() }
    }

    private func writeChanges(_ work: Gathered) throws(OutboxFile.Failure) {
        guard let number = work.number else { return }
        try change { file throws(OutboxFile.Failure) in try file.append(work.changes) }
        work.report?(.durable(number))
    }

    /// States are no promise: without room for them sends continue.
    private func writeStates(_ states: [SessionName: SavedState?]) throws(OutboxFile.Failure) {
        do throws(OutboxFile.Failure) {
            try change { file throws(OutboxFile.Failure) in try file.append([], states) }
        } catch {
            guard case .rolledBack = error else { throw error }
        }
    }

    private func change(
        _ body: (inout OutboxFile) throws(OutboxFile.Failure) -> Void
    ) throws(OutboxFile.Failure) {
        try opened.withLock { opened throws(OutboxFile.Failure) in
            guard var current = opened else { throw .broken("it is not open") }
            // Not two references: a change would copy everything.
            opened = nil
            defer { opened = current }
            try body(&current.file)
        }
    }

    private func release() {
        opened.withLock { opened in
            opened?.file.close()
            opened?.lock.release()
            opened = nil
        }
    }

    /// Without symbolic links: a rewritten file replaces the file, not a link to it.
    private static func resolved(_ path: String) -> String {
        guard let found = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }
}
