internal import ClientMachine

/// The file of an outbox (ADR-0042), with one writer.
///
/// Each call waits for the disk. After the failure `broken`, only ``close()`` may be called.
struct OutboxFile: Sendable {
    enum Failure: Error, Equatable {
        /// The file is as it was: a part of a line counts as nothing. Later writes may succeed, and
        /// begin with the changes of this one. Its states are lost.
        case rolledBack(String)
        /// After its last durable line the file may have anything.
        case broken(String)

        var reason: String {
            switch self {
            case .rolledBack(let reason), .broken(let reason): reason
            }
        }
    }

    /// The largest file that is read, 1 GiB. The contents are bounded far below it.
    static let limitBytes = 1_073_741_824
    private let path: String
    private let account: String?
    private let disk: any OutboxDisk
    private let deadLimitBytes: Int
    private var file: Int32
    private(set) var contents: OutboxContents
    /// The length up to which the file is durable: where the next line begins.
    private(set) var length: Int
    /// Changes that are in the contents but not in the file. Invariant: bounded by the outbox,
    /// whose sends wait for them.
    private var unwritten: [OutboxRecord] = []
    /// Whether a part of a line may be after `length`, which a shorter line would not overwrite.
    private var hasRest = false
    /// The length from which it may be worthwhile to rewrite the file.
    private var rewriteLength = 0

    /// Opens the file, or makes it.
    ///
    /// - Parameter deadLimitBytes: it is rewritten when more of it is dead, and more than half.
    /// - Throws: if it cannot be used; it is unchanged then.
    init(
        _ path: String, account: String?, keepsStates: Bool, deadLimitBytes: Int = 1_048_576,
        on disk: any OutboxDisk
    ) throws(OutboxUnavailable) {
        self.path = path
        self.account = account
        self.disk = disk
        self.deadLimitBytes = deadLimitBytes
        // Left by a rewriting that was interrupted.
        disk.remove(path + ".new")
        do throws(DiskFault) {
            if let file = try disk.open(path) {
                self.file = file
                (contents, length) = (OutboxContents(), 0)
            } else {
                contents = OutboxContents()
                (file, length) = try Self.make(contents, path, account, disk)
                return
            }
        } catch {
            throw OutboxUnavailable("the outbox \(path) cannot be opened: \(error)")
        }
        do throws(OutboxUnavailable) {
            try load(keepsStates: keepsStates)
        } catch {
            disk.close(file)
            throw error
        }
    }

    private mutating func load(keepsStates: Bool) throws(OutboxUnavailable) {
        let bytes: [UInt8]
        do throws(DiskFault) {
            bytes = try disk.read(file, limit: Self.limitBytes)
        } catch {
            throw OutboxUnavailable("the outbox \(path) cannot be read: \(error)")
        }
        do throws(OutboxContents.Fault) {
            (contents, length) = try OutboxContents.read(
                bytes, account: account, keepsStates: keepsStates)
        } catch {
            throw OutboxUnavailable("the outbox \(path) cannot be used: \(error)")
        }
        // The first write removes it: stored actions must be usable on a disk without writes.
        hasRest = length < bytes.count
    }

    /// Appends a line, after the changes of earlier writes that were rolled back, and returns when
    /// it is durable. Writes nothing if there are no changes.
    mutating func append(
        _ changes: [OutboxChange], _ states: [SessionName: SavedState?] = [:]
    ) throws(Failure) {
        for change in changes {
            guard contents.apply(change) else {
                throw .broken("a change of the outbox does not follow from those before it")
            }
            unwritten.append(OutboxRecord(change))
        }
        var records = unwritten
        for session in states.keys.sorted(by: { $0.text < $1.text }) {
            let state = states[session] ?? nil
            contents.apply(state, of: session)
            records.append(OutboxRecord(state, of: session))
        }
        guard !records.isEmpty else { return }
        try write(OutboxLine.encoded(records))
        unwritten = []
    }

    private mutating func write(_ line: [UInt8]) throws(Failure) {
        guard length + line.count <= Self.limitBytes else {
            throw .rolledBack("the file would have more than \(Self.limitBytes) bytes")
        }
        guard disk.leads(path, to: file) else {
            throw .broken("the file \(path) was moved or deleted")
        }
        do throws(DiskFault) {
            if hasRest { try disk.truncate(file, to: length) }
            hasRest = true
            try disk.write(line, to: file, at: length)
        } catch {
            throw .rolledBack("\(error)")
        }
        do throws(DiskFault) {
            try disk.flush(file)
        } catch {
            // The system may regard data as written although a flush has failed, so another would
            // prove nothing. The line is not to come back.
            try? disk.truncate(file, to: length)
            try? disk.flush(file)
            throw .broken("\(error)")
        }
        hasRest = false
        length += line.count
    }

    /// Replaces the file by a shorter one if most of it is dead.
    ///
    /// - Throws: only if it is not known which of the two files a later life of the program will
    ///   find. A new file that cannot be written leaves the old one in use.
    mutating func rewriteIfWorthwhile() throws(Failure) {
        guard length >= rewriteLength else { return }
        let bytes = contents.encoded(account: account)
        let dead = length - bytes.count
        rewriteLength = bytes.count + max(deadLimitBytes, bytes.count) + 1
        guard dead > deadLimitBytes, dead > length / 2 else { return }
        do throws(DiskFault) {
            let new = try Self.make(contents, path, account, disk)
            disk.close(file)
            (file, length) = new
            hasRest = false
        } catch {
            guard disk.leads(path, to: file) else { throw .broken("\(error)") }
            // Tried again when the file has grown as much once more.
            rewriteLength = length * 2
        }
    }

    mutating func close() { disk.close(file) }

    /// Makes a file whose first line is durable before it has its name. Returns when both are.
    private static func make(
        _ contents: OutboxContents, _ path: String, _ account: String?, _ disk: any OutboxDisk
    ) throws(DiskFault) -> (Int32, Int) {
        let bytes = contents.encoded(account: account)
        let file = try disk.create(path + ".new")
        do throws(DiskFault) {
            try disk.write(bytes, to: file, at: 0)
            try disk.flush(file)
            try disk.rename(path + ".new", to: path)
            try disk.flushFolder(of: path)
            return (file, bytes.count)
        } catch {
            disk.close(file)
            disk.remove(path + ".new")
            throw error
        }
    }
}

extension OutboxContents.Fault: CustomStringConvertible {
    var description: String {
        switch self {
        case .damaged(let offset, let reason): "damaged at byte \(offset): \(reason)"
        case .version(let form):
            "it has form \(form), written by another version of this library: send its "
                + "actions with that version, or use another file"
        case .account(let account?): "it belongs to the account \(account)"
        case .account(nil): "it belongs to no account"
        }
    }
}
