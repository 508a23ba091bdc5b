import Synchronization

@testable import ReactorClient

/// A disk in memory that fails, and that forgets in a crash what was not flushed.
final class ForgetfulDisk: OutboxDisk {
    enum Fault: Sendable {
        /// The computer stops in that operation, which has begun.
        case crash(at: Int)
        /// That operation fails, a write after a half of it; the others work.
        case failure(at: Int, code: Int32)
    }

    private struct Inode {
        var bytes: [UInt8] = []
        var durable: [UInt8] = []
    }

    private struct State {
        var inodes: [Int32: Inode] = [:]
        var names: [String: Int32] = [:]
        var durableNames: [String: Int32] = [:]
        var fault: Fault?
        var operations: [String] = []
        var isDead = false
        /// The number of changes to the disk that fail next, and their code.
        var failing: (count: Int, code: Int32) = (0, 0)
    }

    private let state: Mutex<State>

    init(_ fault: Fault? = nil) { state = Mutex(State(fault: fault)) }

    /// A disk with one file, or with none.
    init(_ path: String, _ bytes: [UInt8]?) {
        var state = State()
        if let bytes {
            state.inodes[1] = Inode(bytes: bytes, durable: bytes)
            state.names[path] = 1
            state.durableNames = state.names
        }
        self.state = Mutex(state)
    }

    var operations: [String] { state.withLock { $0.operations } }
    var isDead: Bool { state.withLock { $0.isDead } }

    /// Makes the next changes to the disk fail. A write fails after half of its bytes.
    func failNext(_ count: Int, code: Int32) {
        state.withLock { $0.failing = (count, code) }
    }

    func set(_ fault: Fault?) { state.withLock { $0.fault = fault } }

    /// Every content that the file may have after a crash now; nil: there is no such file.
    func survivors(_ path: String) -> [[UInt8]?] {
        state.withLock { state in
            [state.names, state.durableNames].flatMap { names -> [[UInt8]?] in
                guard let inode = names[path].flatMap({ state.inodes[$0] }) else { return [nil] }
                return Self.survivors(inode)
            }
        }
    }

    private static func survivors(_ inode: Inode) -> [[UInt8]] {
        var all = [inode.durable, inode.bytes]
        let from = inode.durable.count
        guard inode.bytes.count > from, inode.bytes.starts(with: inode.durable) else { return all }
        let added = inode.bytes.count - from
        for part in 0...5 {
            let cut = Array(inode.bytes.prefix(from + added * part / 5))
            all.append(cut)
            // The length is durable before the data.
            all.append(cut + [UInt8](repeating: 0, count: inode.bytes.count - cut.count))
        }
        return all
    }

    /// Does an operation, or a part of it.
    private func perform<Result>(
        _ name: String, part: (inout State) -> Void = { _ in }, _ body: (inout State) -> Result
    ) throws(DiskFault) -> Result {
        let result = state.withLock { state -> Swift.Result<Result, DiskFault> in
            let dead = DiskFault(operation: name, code: 5)
            guard !state.isDead else { return .failure(dead) }
            state.operations.append(name)
            if state.failing.count > 0, ["write", "truncate", "flush", "create"].contains(name) {
                state.failing.count -= 1
                part(&state)
                return .failure(DiskFault(operation: name, code: state.failing.code))
            }
            switch state.fault {
            case .crash(let number) where number == state.operations.count:
                part(&state)
                state.isDead = true
                return .failure(dead)
            case .failure(let number, let code) where number == state.operations.count:
                part(&state)
                return .failure(DiskFault(operation: name, code: code))
            default: return .success(body(&state))
            }
        }
        return try result.get()
    }

    func open(_ path: String) throws(DiskFault) -> Int32? {
        try perform("open") { $0.names[path] }
    }

    func create(_ path: String) throws(DiskFault) -> Int32 {
        try perform("create") { state in
            let number = (state.inodes.keys.max() ?? 0) + 1
            state.inodes[number] = Inode()
            state.names[path] = number
            return number
        }
    }

    func read(_ file: Int32, limit: Int) throws(DiskFault) -> [UInt8] {
        try perform("read") { $0.inodes[file]?.bytes ?? [] }
    }

    func write(_ bytes: [UInt8], to file: Int32, at offset: Int) throws(DiskFault) {
        func put(_ bytes: some Collection<UInt8>, _ state: inout State) {
            var content = state.inodes[file]?.bytes ?? []
            let end = offset + bytes.count
            if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
            content.replaceSubrange(offset..<end, with: bytes)
            state.inodes[file]?.bytes = content
        }
        let isCrash = isCrash
        try perform(
            "write",
            // A crash may leave everything, or any part: `survivors` cuts it.
            part: { put(isCrash ? bytes[...] : bytes.prefix(bytes.count / 2), &$0) }
        ) { put(bytes, &$0) }
    }

    func truncate(_ file: Int32, to length: Int) throws(DiskFault) {
        try perform("truncate") { state in
            let rest = state.inodes[file]?.bytes.prefix(length) ?? []
            state.inodes[file]?.bytes = Array(rest)
        }
    }

    func flush(_ file: Int32) throws(DiskFault) {
        try perform("flush") { state in
            if let bytes = state.inodes[file]?.bytes { state.inodes[file]?.durable = bytes }
        }
    }

    func rename(_ path: String, to new: String) throws(DiskFault) {
        func move(_ state: inout State) {
            state.names[new] = state.names.removeValue(forKey: path)
        }
        let isCrash = isCrash
        try perform("rename", part: { if isCrash { move(&$0) } }) { move(&$0) }
    }

    func flushFolder(of path: String) throws(DiskFault) {
        try perform("flush the folder") { $0.durableNames = $0.names }
    }

    func remove(_ path: String) { _ = try? perform("remove") { $0.names[path] = nil } }

    func close(_ file: Int32) {}

    func leads(_ path: String, to file: Int32) -> Bool {
        state.withLock { $0.names[path] == file }
    }

    private var isCrash: Bool {
        state.withLock { if case .crash = $0.fault { true } else { false } }
    }
}
