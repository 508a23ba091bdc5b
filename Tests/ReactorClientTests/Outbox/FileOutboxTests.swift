// Why one file: the tests share disks that fail, are slow, or forget.

import ClientMachine
import Dispatch
import Foundation
import Glibc
import Synchronization
import TestRandomness
import Testing

@testable import ReactorClient

/// The reports of a store, in order.
private final class Reports: Sendable {
    let stream: AsyncStream<OutboxReport>
    private let continuation: AsyncStream<OutboxReport>.Continuation
    private let all = Mutex<[OutboxReport]>([])

    init() { (stream, continuation) = AsyncStream.makeStream() }

    var soFar: [OutboxReport] { all.withLock { $0 } }

    @Sendable func receive(_ report: OutboxReport) {
        all.withLock { $0.append(report) }
        continuation.yield(report)
    }

    /// Waits for a failure, or until everything up to that number is durable.
    func wait(for number: UInt64) async -> OutboxReport? {
        for await report in stream {
            switch report {
            case .durable(let found) where found < number: continue
            default: return report
            }
        }
        return nil
    }
}

/// The waits that a store has reported, and when.
private final class Delays: Sendable {
    private let all = Mutex<[(at: ContinuousClock.Instant, wait: Duration)]>([])

    /// - Returns: how many there are.
    func add(_ wait: Duration) -> Int {
        all.withLock { all in
            all.append((.now, wait))
            return all.count
        }
    }

    /// Whether each report came after the wait of the one before.
    var areKept: Bool {
        all.withLock { all in
            zip(all, all.dropFirst()).allSatisfy { $1.at - $0.at >= $0.wait }
        }
    }
}

/// A disk whose flushes wait.
private final class SlowDisk: OutboxDisk {
    let disk = ForgetfulDisk()
    private let gate = DispatchSemaphore(value: 0)
    private let isOpen = Mutex(true)
    let flushes = AsyncStream<Void>.makeStream()

    func hold() { isOpen.withLock { $0 = false } }

    func letOne() { gate.signal() }

    func flush(_ file: Int32) throws(DiskFault) {
        if !isOpen.withLock({ $0 }) {
            flushes.continuation.yield()
            gate.wait()
        }
        try disk.flush(file)
    }

    func open(_ path: String) throws(DiskFault) -> Int32? { try disk.open(path) }
    func create(_ path: String) throws(DiskFault) -> Int32 { try disk.create(path) }
    func read(_ file: Int32, limit: Int) throws(DiskFault) -> [UInt8] {
        try disk.read(file, limit: limit)
    }
    func write(_ bytes: [UInt8], to file: Int32, at offset: Int) throws(DiskFault) {
        try disk.write(bytes, to: file, at: offset)
    }
    func truncate(_ file: Int32, to length: Int) throws(DiskFault) {
        try disk.truncate(file, to: length)
    }
    func rename(_ path: String, to new: String) throws(DiskFault) {
        try disk.rename(path, to: new)
    }
    func flushFolder(of path: String) throws(DiskFault) { try disk.flushFolder(of: path) }
    func remove(_ path: String) { disk.remove(path) }
    func close(_ file: Int32) { disk.close(file) }
    func leads(_ path: String, to file: Int32) -> Bool { disk.leads(path, to: file) }
}

/// A folder of its own, with a path in it.
private func withPath(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
        .appending(path: "outbox-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path(percentEncoded: false) + "/box")
}

private func entry(_ number: UInt64, _ session: String = "a", bytes: Int = 3) throws -> OutboxEntry
{
    OutboxEntry(
        ticket: TicketNumber(number), session: try name(session),
        actions: [[UInt8](repeating: UInt8(ascii: "x"), count: bytes)], makes: "chat")
}

@Suite("an outbox in a file", .timeLimit(.minutes(60)))
struct FileOutboxTests {
    @Test func `a later life of the program finds everything`() async throws {
        try await withPath { path in
            var model = OutboxContents()
            for life in 0..<4 as Range<UInt64> {
                let reports = Reports()
                let (store, contents) = try await open(path, reports)
                #expect(contents.outbox == model.outbox)
                let first = model.outbox.nextTicket.number
                for number in 0..<20 as Range<UInt64> {
                    let change = OutboxChange.queued(try entry(first + number, "s\(number % 3)"))
                    _ = model.apply(change)
                    store.write(number + 1, [change])
                }
                #expect(await reports.wait(for: 20) == .durable(20))
                if life % 2 == 0 { await store.close() }
            }
        }
    }

    /// Opens an outbox. The queue of its last user may still hold the file for a moment.
    private func open(
        _ path: String, _ reports: Reports
    ) async throws -> (FileOutbox, SavedOutbox) {
        while true {
            let store = FileOutbox(path, account: "ada")
            let opened = Result { try store.open(reports.receive) }
            guard case .failure(let fault) = opened,
                "\(fault)".contains("is in use by this process")
            else { return (store, try opened.get()) }
            await Task.yield()
        }
    }

    @Test func `changes that come during a flush share the next one`() async throws {
        try await withPath { path in
            let disk = SlowDisk()
            let store = FileOutbox(
                path, account: nil, keepsStates: false, stateInterval: .zero, on: disk)
            let reports = Reports()
            _ = try store.open(reports.receive)
            disk.hold()
            var flushes = disk.flushes.stream.makeAsyncIterator()
            store.write(1, [.queued(try entry(1))])
            await flushes.next()
            for number in 2...100 as ClosedRange<UInt64> {
                store.write(number, [.queued(try entry(number, "s\(number)"))])
            }
            #expect(reports.soFar.isEmpty)
            disk.letOne()
            await flushes.next()
            disk.letOne()
            #expect(await reports.wait(for: 100) == .durable(100))
            #expect(reports.soFar == [.durable(1), .durable(100)])
        }
    }

    @Test func `one store at a time has the file, and the other one learns who`() async throws {
        try await withPath { path in
            let store = FileOutbox(path)
            _ = try store.open { _ in }
            let other = FileOutbox(path)
            #expect(throws: OutboxUnavailable("the outbox \(path) is in use by this process")) {
                _ = try other.open { _ in }
            }
            try "4711\n".write(toFile: path + ".lock", atomically: false, encoding: .utf8)
            #expect(throws: OutboxUnavailable("the outbox \(path) is in use by process 4711")) {
                _ = try other.open { _ in }
            }
            await store.close()
            _ = try other.open { _ in }
        }
    }

    @Test func `a link to the file stays one`() async throws {
        try await withPath { path in
            await { try? await Self.write(1, path) }()
            let link = path + "-link"
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: path)
            let store = FileOutbox(link)
            let reports = Reports()
            #expect(try store.open(reports.receive).outbox.nextTicket == TicketNumber(2))
            // More than 1 MiB that is dead.
            for number in 2...8 as ClosedRange<UInt64> {
                store.write(
                    number,
                    [
                        .queued(try entry(number, bytes: 300_000)),
                        .discarded(TicketNumber(number), try name("a")),
                    ])
                #expect(await reports.wait(for: number) == .durable(number))
            }
            await store.close()
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(try #require(attributes[.size] as? Int) < 1_500_000)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
            #expect(try FileOutbox(path).open { _ in }.outbox.nextTicket == TicketNumber(9))
        }
    }

    private static func write(_ number: UInt64, _ path: String) async throws {
        let store = FileOutbox(path)
        let reports = Reports()
        _ = try store.open(reports.receive)
        store.write(number, [.queued(try entry(number))])
        #expect(await reports.wait(for: number) == .durable(number))
        await store.close()
    }

    @Test func `a damaged file is left as it is, and nothing of it is given out`() async throws {
        try await withPath { path in
            _ = try FileOutbox(path).open { _ in }
            let whole = try Data(contentsOf: URL(filePath: path)).count
            try await Self.write(1, path)
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes[bytes.count - 3] ^= 4
            try bytes.write(to: URL(filePath: path))
            do {
                _ = try FileOutbox(path).open { _ in }
                Issue.record("it was opened")
            } catch {
                #expect("\(error)".contains("damaged at byte \(whole)"), "\(error)")
            }
            #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
            // The lock is free again.
            try FileManager.default.removeItem(atPath: path)
            #expect(try FileOutbox(path).open { _ in }.outbox == Outbox())
        }
    }

    @Test func `a folder that is missing is a sentence`() async throws {
        try await withPath { path in
            #expect(throws: OutboxUnavailable.self) {
                _ = try FileOutbox(path + "/none/box").open { _ in }
            }
        }
    }

    @Test func `a file that was deleted beneath the program is a failure`() async throws {
        try await withPath { path in
            let store = FileOutbox(path)
            let reports = Reports()
            _ = try store.open(reports.receive)
            store.write(1, [.queued(try entry(1))])
            #expect(await reports.wait(for: 1) == .durable(1))
            try FileManager.default.removeItem(atPath: path)
            store.write(2, [.queued(try entry(2))])
            guard case .failed(let why) = await reports.wait(for: 2) else {
                Issue.record("it was reported as durable")
                return
            }
            #expect(why.description.contains("moved or deleted"))
            // Nothing follows a failure.
            store.write(3, [.queued(try entry(3))])
            await store.close()
            #expect(reports.soFar.count == 2)
        }
    }

    @Test func `states gather, and are written at once when it is the last one`() async throws {
        try await withPath { path in
            let position = StreamPosition("abcd1234", 5)
            func state(_ text: String) -> SavedState {
                SavedState(position: position, state: Array(text.utf8))
            }
            let disk = ForgetfulDisk()
            let store = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .seconds(100_000), on: disk)
            let reports = Reports()
            _ = try store.open(reports.receive)
            let before = disk.operations.count { $0 == "write" }
            for number in 0..<100 {
                store.saveState(state("\(number)"), of: try name("a"), isLast: false)
            }
            store.write(1, [.queued(try entry(1))])
            #expect(await reports.wait(for: 1) == .durable(1))
            #expect(disk.operations.count { $0 == "write" } == before + 1)
            store.saveState(state("b"), of: try name("b"), isLast: true)
            store.saveState(state("c"), of: try name("c"), isLast: false)
            store.saveState(nil, of: try name("c"), isLast: false)
            await store.close()
            #expect(disk.operations.count { $0 == "write" } <= before + 3)
            let again = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .zero, on: disk)
            let saved = try again.open { _ in }
            #expect(saved.states == [try name("a"): state("99"), try name("b"): state("b")])
            await again.close()
            let without = FileOutbox(
                path, account: nil, keepsStates: false, stateInterval: .zero, on: disk)
            #expect(try without.open { _ in }.states.isEmpty)
        }
    }

    @Test func `a state is written without another call when its time is over`() async throws {
        try await withPath { path in
            let disk = SlowDisk()
            let store = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .zero, on: disk)
            _ = try store.open { _ in }
            disk.hold()
            var flushes = disk.flushes.stream.makeAsyncIterator()
            let position = StreamPosition("abcd1234", 5)
            store.saveState(
                SavedState(position: position, state: nil), of: try name("a"), isLast: false)
            await flushes.next()
            disk.letOne()
            await store.close()
        }
    }

    @Test func `a disk without room for states keeps sends`() async throws {
        try await withPath { path in
            let disk = SlowDisk()
            let store = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .zero, on: disk)
            let reports = Reports()
            _ = try store.open(reports.receive)
            disk.hold()
            var flushes = disk.flushes.stream.makeAsyncIterator()
            store.write(1, [.queued(try entry(1))])
            await flushes.next()
            // Then come the next change with its flush, and the write of the state, which fails.
            disk.disk.set(.failure(at: disk.disk.operations.count + 4, code: ENOSPC))
            store.write(2, [.queued(try entry(2))])
            store.saveState(
                SavedState(position: StreamPosition("abcd1234", 5), state: [1]),
                of: try name("a"), isLast: true)
            for _ in 1...3 { disk.letOne() }
            #expect(await reports.wait(for: 2) == .durable(2))
            store.write(3, [.queued(try entry(3))])
            #expect(await reports.wait(for: 3) == .durable(3))
            #expect(disk.disk.operations.suffix(4) == ["write", "truncate", "write", "flush"])
            disk.disk.set(.failure(at: disk.disk.operations.count + 1, code: ENOSPC))
            store.write(4, [.queued(try entry(4))])
            guard case .delayed(_, let why) = await reports.wait(for: 4) else {
                Issue.record("it was reported as durable")
                return
            }
            #expect(why.description.contains("write: No space left on device"))
            // It is tried again.
            disk.letOne()
            #expect(await reports.wait(for: 4) == .durable(4))
            await store.close()
            let again = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .zero, on: disk.disk)
            let saved = try again.open { _ in }
            #expect(saved.outbox.nextTicket == TicketNumber(5))
            #expect(saved.states.isEmpty)
        }
    }

    @Test func `changes that a full disk has refused are written in order when it has room`()
        async throws
    {
        try await withPath { path in
            let disk = ForgetfulDisk()
            let store = FileOutbox(
                path, account: nil, keepsStates: false, stateInterval: .zero, on: disk)
            let reports = Reports()
            _ = try store.open(reports.receive)
            // Round 0: the write fails. Round 1: so does the truncation that removes its first
            // half before the next attempt.
            for round in 0..<2 as Range<UInt64> {
                let first = 1 + 2 * round
                disk.failNext(1 + Int(round), code: ENOSPC)
                store.write(first, [.queued(try entry(first))])
                guard case .delayed = await reports.wait(for: first) else {
                    Issue.record("it was reported as durable")
                    return
                }
                store.write(first + 1, [.queued(try entry(first + 1))])
                if round == 1 {
                    guard case .delayed = await reports.wait(for: first + 1) else {
                        Issue.record("the truncation has not failed")
                        return
                    }
                }
                #expect(await reports.wait(for: first + 1) == .durable(first + 1))
            }
            await store.close()
            let again = FileOutbox(
                path, account: nil, keepsStates: false, stateInterval: .zero, on: disk)
            let outbox = try again.open { _ in }.outbox
            #expect(outbox[try name("a")].entries.map(\.ticket.number) == [1, 2, 3, 4])
            await again.close()
        }
    }

    // No time is waited for here: the store's own waits are compared with the time that has passed.
    @Test func `a full disk is tried again after each wait, whatever comes`() async throws {
        try await withPath { path in
            let disk = ForgetfulDisk()
            let store = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .zero, on: disk)
            let (session, position) = (try name("a"), StreamPosition("abcd1234", 5))
            let entries = try (1...4 as ClosedRange<UInt64>).map { try entry($0) }
            let delays = Delays()
            let (ends, end) = AsyncStream<Void>.makeStream()
            _ = try store.open { [weak store] report in
                guard case .delayed(let wait, _) = report else { return }
                let count = delays.add(wait)
                guard count < entries.count else { return end.finish() }
                store?.write(UInt64(count + 1), [.queued(entries[count])])
                store?.saveState(
                    SavedState(position: position, state: nil), of: session, isLast: false)
            }
            disk.failNext(.max, code: ENOSPC)
            store.write(1, [.queued(entries[0])])
            for await _ in ends {}
            #expect(delays.areKept)
            disk.failNext(0, code: 0)
            await store.close()
            let again = FileOutbox(
                path, account: nil, keepsStates: true, stateInterval: .zero, on: disk)
            let saved = try again.open { _ in }
            #expect(saved.outbox.nextTicket == TicketNumber(5) && saved.states.count == 1)
            await again.close()
        }
    }

    @Test func `a file with a cut-off end opens on a disk that cannot be written`() async throws {
        try await withPath { path in
            let disk = ForgetfulDisk()
            var file = try OutboxFile(path, account: nil, keepsStates: false, on: disk)
            try file.append([.queued(try entry(1, bytes: 500))])
            disk.failNext(1, code: ENOSPC)
            #expect(throws: OutboxFile.Failure.self) {
                try file.append([.queued(try entry(2, bytes: 500))])
            }
            file.close()
            // Every later write fails.
            disk.failNext(1_000, code: ENOSPC)
            var next = try OutboxFile(path, account: nil, keepsStates: false, on: disk)
            #expect(next.contents.outbox.actionCount == 1)
            #expect(throws: OutboxFile.Failure.self) { try next.append([.queued(try entry(2))]) }
            disk.failNext(0, code: 0)
            // A shorter line leaves no part of the longer one that was cut off.
            try next.append([])
            next.close()
            let last = try OutboxFile(path, account: nil, keepsStates: false, on: disk)
            #expect(last.contents.outbox.actionCount == 2)
            #expect(disk.survivors(path).allSatisfy { $0?.count == last.length })
        }
    }
}

@Suite("an outbox in a file and the system", .serialized, .timeLimit(.minutes(60)))
struct OutboxProcessTests {
    @Test func `a process that is killed while it writes loses nothing durable`() async throws {
        try await withPath { path in
            for round in 0..<8 as Range<UInt64> {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = path as String, round = round as UInt64] in
                    try await Self.writeUntilKilled(path, seed: round)
                }
                let durable = try Self.log(path)
                let store = FileOutbox(path)
                let outbox = try store.open { _ in }.outbox
                await store.close()
                #expect(outbox.nextTicket.number > durable, "round \(round)")
                // In order, without a gap, and each as it was.
                let entries = outbox[try name("a")].entries
                let numbers = entries.map(\.ticket.number)
                #expect(
                    numbers
                        == Array(
                            (outbox.nextTicket.number - UInt64(entries.count))..<outbox.nextTicket
                                .number))
                #expect(entries.allSatisfy { Set($0.actions[0]) == [UInt8(ascii: "x")] })
            }
            #expect(try Self.log(path) > 8)
        }
    }

    /// The number that the last report has said.
    private static func log(_ path: String) throws -> UInt64 {
        let text = try String(contentsOfFile: path + ".log", encoding: .utf8)
        return text.split(separator: "\n").compactMap { UInt64($0) }.max() ?? 0
    }

    /// Keeps 50 sends: the others are dead, so the file is rewritten again and again.
    private static func writeUntilKilled(_ path: String, seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let reports = Reports()
        let store = FileOutbox(path)
        var outbox = try store.open(reports.receive).outbox
        let log = unsafe open(path + ".log", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let session = try name("a")
        let kill = Int.random(in: 20...120, using: &generator)
        var number: UInt64 = 0
        while true {
            var changes: [OutboxChange] = []
            let bytes = Int.random(in: 1...100_000, using: &generator)
            changes.append(.queued(try entry(outbox.nextTicket.number, bytes: bytes)))
            let queued = outbox[session].queued
            if queued.count > 50 { changes.append(.discarded(queued[0].ticket, session)) }
            for change in changes { _ = outbox.apply(change) }
            number += 1
            store.write(number, changes)
            if number == kill {
                // While the store writes.
                Thread.detachNewThread { Glibc.kill(getpid(), SIGKILL) }
            }
            guard number % 2 == 0 else { continue }
            _ = await reports.wait(for: number)
            let line = Array("\(outbox.nextTicket.number - 1)\n".utf8)
            _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(log, $0.baseAddress, $0.count) }
        }
    }

    @Test func `a file that may not grow is a failure, and keeps what was durable`() async throws {
        try await withPath { path in
            await #expect(processExitsWith: .success) { [path = path as String] in
                let reports = Reports()
                let store = FileOutbox(path)
                _ = try store.open(reports.receive)
                signal(SIGXFSZ, SIG_IGN)
                var limit = rlimit(rlim_cur: 100_000, rlim_max: 1_000_000_000)
                guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
                else { exit(3) }
                var number: UInt64 = 0
                repeat {
                    number += 1
                    store.write(number, [.queued(try entry(number, bytes: 7_777))])
                } while await reports.wait(for: number) == .durable(number)
                guard case .delayed(_, let why) = reports.soFar.last,
                    why.description.contains("File too large")
                else { exit(4) }
                await store.close()
                let again = FileOutbox(path)
                let outbox = try again.open { _ in }.outbox
                exit(number > 5 && outbox.nextTicket == TicketNumber(number) ? 0 : 5)
            }
        }
    }
}
