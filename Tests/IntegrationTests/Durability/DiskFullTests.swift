import Foundation
import Testing

@Suite(
    "A full disk is an error reply, and ends when there is room",
    .enabled(if: Tool.canMount, "mount(8) makes a small disk"), .timeLimit(.minutes(60)))
struct DiskFullTests {
    @Test func `507 applies nothing, reading continues, and free space lets writing resume`()
        async throws
    {
        try await onSmallDisk(fill)
    }

    private func onSmallDisk(_ act: (SmallDisk, JournalFile) async throws -> Void) async throws {
        let disk = try await SmallDisk(megabytes: 6, ballast: 3)
        do {
            try await withJournal(in: disk.path) { try await act(disk, $0) }
        } catch {
            try await disk.remove()
            throw error
        }
        try await disk.remove()
    }

    @Test func `a timer that is due on a full disk fires once, when there is room`() async throws {
        try await onSmallDisk { disk, journal in
            func start() async throws -> ServerProcess {
                try await ServerProcess.start(.fixtures, journal.options + ["--wake-on-demand"])
            }
            let first = try await start()
            let session = try await first.client().session("rounds")
            try await session.post(#"{"type":"set","name":"a","after":3600000,"ring":7}"#)
            try await first.murder()
            try await journal.edit("UPDATE timers SET due = 1 WHERE name = 'a'")
            let server = try await start()
            let filler = try await server.client().session("failing")
            try disk.fill()
            let add = #"{"type":"add","number":1}"#
            while try await filler.client.post("\(filler.path)/actions", add).status == 200 {}
            // A request loads the session, whose timer is due, and cannot fire.
            let late = session.on(server)
            for _ in 1...3 { #expect(try await late.read()["state"]?["rung"] == []) }
            try disk.dropBallast()
            try await untilReady(late.client)
            while try await late.read()["state"]?["rung"] != [7] { try Task.checkCancellation() }
            try await server.murder()
            let last = try await start()
            #expect(try await session.on(last).read()["state"]?["rung"] == [7])
            #expect(try await last.client().get("\(session.path)/runtime").json["timers"] == [])
            try await last.murder()
        }
    }

    private func fill(_ disk: SmallDisk, _ journal: JournalFile) async throws {
        let server = try await journal.start()
        let session = try await server.client().session("alerts")
        let stream = try await session.follow("pulses")
        let refusal = try await postUntilRefused(session)
        try expectProblem(refusal, 507, "journal_full", detail: "no space is left")
        #expect(refusal["Retry-After"] != nil)

        // Nothing of it is visible: the newest record is the last acknowledged one.
        let present = try await session.read()
        let version = try #require(present["version"]?.integer)
        #expect(version > 0)
        let events = try await stream.next(version)
        #expect(events.last?.id == present["position"]?.string)
        #expect(try await session.client.get("\(session.path)/log").status == 200)
        let resumed = try await session.open("pulses?from=start")
        #expect(try await resumed.next(version) == events)
        try expectProblem(
            try await session.client.get("/readyz"), 503, "journal_unavailable",
            detail: "no space is left")
        #expect(try await session.client.get("/livez").status == 200)

        try disk.dropBallast()
        try await untilReady(session.client)
        let next = try await session.alert("there is room")
        #expect(next.version == version + 1)
        #expect(try await stream.next().id == next.position)
        try await server.murder()

        let again = session.on(try await journal.start())
        #expect(try await again.read()["version"] == .integer(version + 1))
        let kept = try await again.open("pulses?from=start")
        #expect(try await kept.next(version) == events)
        #expect(try await kept.next().data == #""there is room""#)
    }

    /// Two at a time, so that a batch is refused together with the others of its group.
    private func postUntilRefused(_ session: SessionHandle) async throws -> Response {
        let text = String(repeating: "x", count: 20_000)
        while true {
            let action = #"{"type":"alert","message":"\#(text)"}"#
            let response = try await session.client.post(
                "\(session.path)/actions", "[\(action),\(action)]")
            guard response.status == 200 else { return response }
        }
    }
}

/// Returns when the server reports that it is ready.
func untilReady(_ client: Client) async throws {
    while try await client.get("/readyz").status != 200 { try Task.checkCancellation() }
}

/// A disk of a few megabytes, partly filled.
final class SmallDisk: Sendable {
    let path: String

    init(megabytes: Int, ballast: Int) async throws {
        path = NSTemporaryDirectory() + "reactor-disk-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let mount = try await Tool.run(
            "mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "none", path])
        guard mount.exit == .code(0) else { throw NotStarted(log: mount) }
        let zeros = Data(count: ballast << 20)
        try zeros.write(to: URL(filePath: path + "/ballast"))
    }

    /// Writes until no page is left.
    func fill() throws {
        let ballast = try FileHandle(forWritingTo: URL(filePath: path + "/ballast"))
        defer { try? ballast.close() }
        try ballast.seekToEnd()
        while (try? ballast.write(contentsOf: Data(count: 4_096))) != nil {}
    }

    func dropBallast() throws {
        try FileManager.default.removeItem(atPath: path + "/ballast")
    }

    /// Lazily: a server may still be ending.
    func remove() async throws {
        _ = try await Tool.run("umount", ["-l", path])
        try FileManager.default.removeItem(atPath: path)
    }
}
