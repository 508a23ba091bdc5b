import Foundation
import Testing

/// Before, a thousand small actions made a thousand states at once: a gigabyte and a half for one
/// reader of a state of 800 KB.
@Suite(
    "A batch on a large state has a bound, whichever streams there are", .timeLimit(.minutes(60)))
struct LargeStateTests {
    private static let count = 1_000

    @Test(arguments: ["memory", "file"])
    func `the states of a batch are not all in memory`(journal: String) async throws {
        let folder = TemporaryFolder()
        let server = try await ServerProcess.start(
            .server,
            [
                "--journal", journal == "file" ? "file:\(folder.path)/journal" : "memory",
                // A busy machine may not let the reader run for half a minute.
                "--stall-timeout", "10m",
            ])
        let session = try await server.client().session("alerts")
        let large = String(repeating: "x", count: 400_000)
        try await session.post(#"{"type":"alert","message":"\#(large)"}"#)
        let stream = try await session.open("states")
        #expect(try await stream.next().name == "snapshot")
        let before = try peakBytes(of: server)
        let batch = Array(repeating: #"{"type":"doSomeAction"}"#, count: Self.count)
        try await session.post("[\(batch.joined(separator: ","))]")
        // The stream continues: with each state, or after a reset.
        var actions = 0
        while actions < Self.count {
            let event = try await stream.next()
            guard event.name == "state" || event.name == "snapshot" else {
                #expect(event.name == "reset" && journal == "memory")
                continue
            }
            let state = try JSONValue(text: event.data)
            let next = try #require((state["state"] ?? state)["actions"]?.integer)
            #expect(event.name == "snapshot" || next == actions + 1)
            actions = next
        }
        let grown = try peakBytes(of: server) - before
        #expect(grown < 120 << 20, "\(grown >> 20) MiB")
    }

    /// proc(5), `VmHWM`.
    private func peakBytes(of server: ServerProcess) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(server.pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split(separator: " ")[1])) << 10
    }
}
