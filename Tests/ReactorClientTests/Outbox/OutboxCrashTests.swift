import ClientMachine
import TestRandomness
import Testing

@testable import ReactorClient

@Suite("an outbox's file outlives a crash at any moment", .timeLimit(.minutes(60)))
struct OutboxCrashTests {
    private static let path = "/folder/outbox"

    private static func open(_ disk: ForgetfulDisk) throws(OutboxUnavailable) -> OutboxFile {
        try OutboxFile(path, account: "ada", keepsStates: true, deadLimitBytes: 100, on: disk)
    }

    /// A life of a program, until the disk fails.
    private struct Life {
        /// The contents that are durable.
        var durable = OutboxContents()
        /// Those with the write that has failed.
        var last = OutboxContents()
        var failure: OutboxFile.Failure?
        var isOpen = false
        var rewritings = 0

        init(_ disk: ForgetfulDisk, seed: UInt64) throws {
            guard var file = try? OutboxCrashTests.open(disk) else { return }
            isOpen = true
            var script = try OutboxScript(seed: seed)
            do throws(OutboxFile.Failure) {
                for _ in 0..<20 {
                    let changes = script.group()
                    let (session, state) = script.state()
                    last = script.contents
                    try file.append(changes, [session: state])
                    durable = script.contents
                    let before = file.length
                    try file.rewriteIfWorthwhile()
                    if file.length < before { rewritings += 1 }
                }
                file.close()
            } catch {
                failure = error
            }
        }
    }

    @Test func `a crash leaves what was durable, or that and the last write`() throws {
        var rewritings = 0
        for seed in 0..<2 as Range<UInt64> {
            let whole = ForgetfulDisk()
            rewritings += try Life(whole, seed: seed).rewritings
            for operation in 1...whole.operations.count {
                let disk = ForgetfulDisk(.crash(at: operation))
                let life = try Life(disk, seed: seed)
                #expect(disk.isDead)
                for survivor in disk.survivors(Self.path) {
                    let after = ForgetfulDisk(Self.path, survivor)
                    var file = try Self.open(after)
                    let contents = file.contents
                    #expect(
                        contents == life.durable || contents == life.last,
                        "seed \(seed), crash in \(operation), \(whole.operations[operation - 1])")
                    // It can be used, and a tail that was cut off does not come back.
                    let entry = OutboxEntry(
                        ticket: contents.outbox.nextTicket, session: try name("a"), actions: [[1]])
                    try file.append([.queued(entry)])
                    var expected = contents
                    let follows = expected.apply(.queued(entry))
                    #expect(follows)
                    #expect(try Self.open(after).contents == expected)
                }
            }
        }
        // Else the interruption of one is not tested.
        #expect(rewritings > 1)
    }

    @Test func `a write that fails leaves nothing of itself`() throws {
        for seed in 0..<2 as Range<UInt64> {
            let whole = ForgetfulDisk()
            _ = try Life(whole, seed: seed)
            for operation in 1...whole.operations.count {
                let disk = ForgetfulDisk(.failure(at: operation, code: 28))
                let life = try Life(disk, seed: seed)
                disk.set(nil)
                let contents = try Self.open(disk).contents
                // Without a failure it was a new file in a rewriting that failed: the
                // old one stays.
                let expected = life.failure == nil ? life.last : life.durable
                let name = whole.operations[operation - 1]
                #expect(contents == expected, "seed \(seed), failure of \(operation), \(name)")
            }
        }
    }

    @Test func `tickets continue after a rewriting that leaves no send`() throws {
        let disk = ForgetfulDisk()
        var file = try Self.open(disk)
        let session = try name("a")
        for number in 1...40 as ClosedRange<UInt64> {
            let entry = OutboxEntry(
                ticket: TicketNumber(number), session: session,
                actions: [[UInt8](repeating: 7, count: 100)])
            try file.append([.queued(entry), .discarded(entry.ticket, session)])
            try file.rewriteIfWorthwhile()
        }
        #expect(disk.operations.count { $0 == "rename" } > 2)
        #expect(file.length < 2_000)
        #expect(try Self.open(disk).contents.outbox.nextTicket == TicketNumber(41))
        #expect(try Self.open(disk).contents.outbox.lanes.isEmpty)
    }

    @Test func `ends that the program has not seen outlive a rewriting`() throws {
        let disk = ForgetfulDisk()
        var file = try Self.open(disk)
        let session = try name("a")
        let problem = MachineProblem(status: 422, code: "not_an_action", detail: "no")
        for number in 1...6 as ClosedRange<UInt64> {
            let gone = OutboxEntry(
                ticket: TicketNumber(2 * number - 1), session: session,
                actions: [[UInt8](repeating: 7, count: 900)])
            let entry = OutboxEntry(
                ticket: TicketNumber(2 * number), session: session,
                actions: [[UInt8](repeating: 7, count: 300)])
            let outcome: Settlement.Outcome = number % 2 == 0 ? .inDoubt : .refused(problem)
            let end = Settlement(ticket: entry.ticket, session: session, outcome: outcome)
            let past: [OutboxChange] = [.queued(gone), .discarded(gone.ticket, session)]
            try file.append(past + [.queued(entry), .settled(end)])
            try file.rewriteIfWorthwhile()
        }
        try file.append([.seen(TicketNumber(6))])
        #expect(disk.operations.count { $0 == "rename" } > 1)
        let outbox = try Self.open(disk).contents.outbox
        #expect(outbox.settlements.keys.sorted() == [2, 4, 8, 10, 12].map { TicketNumber($0) })
        #expect(outbox.settlements[TicketNumber(2)]?.outcome == .refused(problem))
        #expect(outbox.settlements[TicketNumber(8)]?.outcome == .inDoubt)
        let actions = outbox.settlements.values.map { $0.entry?.actions.first?.count }
        #expect(actions == Array(repeating: 300, count: 5))
        #expect(outbox.byteCount == 1_500)
    }
}
