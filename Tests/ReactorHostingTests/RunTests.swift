import Reactors
import Storage
import Synchronization
import Testing

@testable import ReactorHosting

@Suite("ReactorServer.run — it ends even if the journal fails", .timeLimit(.minutes(60)))
struct RunTests {
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.port = 0
        configuration.loops = 2
        configuration.grace = .milliseconds(10)
        configuration.logLevel = .critical
        return configuration
    }

    @Test func `run returns a failure if the journal does not close`() async throws {
        let journal = StalledJournal()
        let running = Task {
            try await ReactorServer(hosting: [], configuration: Self.configuration).run(
                started: { _ in journal.start() }, closingTime: .milliseconds(10)
            ) { _ in journal }
        }
        await journal.untilStarted()
        running.cancel()
        await #expect(throws: StopFailure.self) { try await running.value }
        // Not before the attempt.
        await journal.untilClosing()
        journal.resume()
    }

    @Test func `an address in use opens no journal`() async throws {
        var configuration = Self.configuration
        configuration.host = "host.invalid"
        let server = ReactorServer(hosting: [], configuration: configuration)
        let opened = Mutex(0)
        await #expect(throws: StartFailure.self) {
            try await server.run(closingTime: .seconds(30)) { _ in
                opened.withLock { $0 += 1 }
                return MemoryJournal()
            }
        }
        #expect(opened.withLock { $0 } == 0)
    }
}

/// A journal whose disk hangs on closing, until `resume`.
private final class StalledJournal: Journal {
    private let started = AsyncStream<Void>.makeStream()
    private let closing = AsyncStream<Void>.makeStream()
    private let resumed = AsyncStream<Void>.makeStream()

    let name = "stalled"
    let archive: (any Archive)? = nil
    let failure: JournalFailure? = nil

    func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
        .done
    }

    func close() async {
        closing.continuation.finish()
        for await _ in resumed.stream {}
    }

    func start() { started.continuation.finish() }
    func resume() { resumed.continuation.finish() }
    func untilStarted() async { for await _ in started.stream {} }
    func untilClosing() async { for await _ in closing.stream {} }
}
