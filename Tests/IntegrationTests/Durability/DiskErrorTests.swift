import Glibc
import Testing

@Suite(
    "An I/O error is an error reply, and ends when the disk works again",
    .enabled(if: Tool.canTrace, "strace(1) makes system calls fail"), .timeLimit(.minutes(60)))
struct DiskErrorTests {
    @Test(arguments: [
        ("fdatasync,fsync", 504), ("pwrite64,write", 503), ("fdatasync,fsync,pwrite64", 503),
    ])
    func `commits get 503 or 504, nothing shown is lost, and no restart is needed`(
        _ calls: String, _ first: Int
    ) async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            let before = try await session.alert("before")
            #expect(try await stream.next().id == before.position)

            let fault = try await Fault(calls, of: server)
            for attempt in 1...3 {
                let refusal = try await session.client.post(
                    "\(session.path)/actions", #"{"type":"alert","message":"failed"}"#)
                if attempt == 1, first == 504 {
                    try expectProblem(refusal, 504, "outcome_unknown")
                    #expect(refusal["Retry-After"] == "1")
                } else {
                    try expectProblem(refusal, 503, "journal_unavailable")
                }
                try expectProblem(
                    try await session.client.get("/readyz"), 503, "journal_unavailable")
                #expect(try await session.client.get(session.path).status == 200)
            }
            try await fault.mend()

            try await untilReady(session.client)
            let after = try await session.alert("after")
            let told = try await eventsUpTo(after.position, stream, session, before.position)
            try await server.murder()

            let again = session.on(try await journal.start())
            let kept = try await again.open("pulses?from=start")
            let history = try await kept.next(after.number)
            #expect(history.first?.data == #""before""#)
            #expect(history.last?.data == #""after""#)
            #expect(history.count { $0.data == #""failed""# } <= 3)
            #expect(Array(history.dropFirst()) == told)
        }
    }

    @Test(arguments: [false, true])
    func `after 504 the same Idempotency-Key reveals the outcome, after a kill too`(
        _ isKilled: Bool
    ) async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("counter")
            var post = Request.json(
                "POST", "\(session.path)/actions", #"{"type":"increment","number":1}"#)
            post.fields.append(("Idempotency-Key", "once"))
            let fault = try await Fault("fdatasync,fsync", of: server)
            try expectProblem(try await session.client.send(post), 504, "outcome_unknown")
            #expect(try await session.read()["version"] == 0)
            var again = session
            if isKilled {
                try await server.murder()
                try await fault.mend()
                again = session.on(try await journal.start())
            } else {
                try await fault.mend()
                try await untilReady(session.client)
            }
            for _ in 0..<2 {
                let answer = try await again.client.send(post)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try answer.json["version"] == 1)
            }
            #expect(try await again.state()["count"] == 1)
        }
    }

    @Test func `a disk that hangs does not keep a server from ending`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--grace", "100ms")
            let session = try await server.client().session("alerts")
            let kept = try await session.alert("kept")
            let fault = try await Fault(
                "fdatasync,fsync", of: server, "delay_enter=\(600 * 1_000_000)")
            let unanswered = Task { try await session.alert("unanswered") }
            // By then the commit waits for the disk: a server without pending commits would end at
            // once.
            while try await server.client().get("/readyz").status == 200 {
                try Task.checkCancellation()
            }
            server.signal(SIGTERM)
            try await server.log.wait { $0.errors.contains("does not answer") }
            // strace, which simulates the disk, holds the thread that it delays. It is killed
            // instead of detached: a detach waits forever for the main thread of a process that is
            // ending (strace 6.1; seen as a zombie with other threads stopped). The kernel detaches
            // it.
            try await fault.mend(with: SIGKILL)
            #expect(try await server.exit() == .code(1))
            // The disk may have responded after all in its last moment; then the reply is correct.
            let answered = try? await unanswered.value.version
            let again = session.on(try await journal.start())
            let version = try #require(try await again.read()["version"]?.integer)
            #expect(version >= answered ?? kept.version)
        }
    }

    /// The events that the reader received from `start` on. Its stream may have been cut, as it is
    /// when the outcome of a commit is unknown; then it resumes with its id, like a browser.
    private func eventsUpTo(
        _ last: String, _ stream: EventStream, _ session: SessionHandle, _ start: String
    ) async throws -> [Event] {
        var events: [Event] = []
        var stream = stream
        while events.last?.id != last {
            do {
                events.append(try await stream.next())
            } catch is EventStream.Ended {
                stream = try await session.open(
                    "pulses", [("Last-Event-ID", events.last?.id ?? start)])
            }
        }
        return events
    }
}

/// System calls of a process that fail with EIO until they are mended.
///
/// strace(1) is attached to the running process, so that the fault begins and ends where the test
/// says, whatever number of calls came before.
private final class Fault: Sendable {
    private let log = ProcessLog()
    private let pid: pid_t

    /// - Parameter what: the injected result, in strace's syntax: an error by default.
    init(
        _ calls: String, of server: ServerProcess, _ what: String = "error=EIO"
    ) async throws {
        pid = try Tool.start(
            "strace",
            [
                "-f", "-e", "trace=\(calls)", "-e", "inject=\(calls):\(what)", "-o", "/dev/null",
                "-p", "\(server.pid)",
            ], log)
        try await log.wait { $0.errors.contains("attached") || $0.exit != nil }
        guard log.present.exit == nil else { throw NotStarted(log: log.present) }
    }

    /// Detaches; the process continues.
    func mend(with signal: Int32 = SIGINT) async throws {
        kill(pid, signal)
        try await log.wait { $0.exit != nil }
    }

    deinit { kill(pid, SIGKILL) }
}
