import Dispatch
import Foundation
import ReactorClient
import Reactors

/// The measurements, each with sessions of its own.
struct Measurements {
    let client: ReactorClient
    /// Actions and events that were lost or doubled.
    private(set) var faults: [String] = []
    private let url: String
    private let run = "bench-\(UInt64.random(in: 0...UInt64.max))"
    private let clock = ContinuousClock()

    init(_ url: String) throws {
        self.url = url
        client = try ReactorClient(url)
    }

    /// Sends one after the other, in turn so that all have the same machine: through the client,
    /// whose send is over when its response is there and its event has come (the confirmed state
    /// contains it); through bare libcurl that waits for both as well; and through bare libcurl
    /// that waits for the response alone.
    mutating func latency(_ count: Int) async throws {
        let ids = ["\(run)-sends", "\(run)-followed", "\(run)-bare"]
        let session = try await client.session(ids[0], of: "alerts", predicting: Alerts())
        var bare = try BareConnection()
        for id in ids.dropFirst() {
            try bare.request("PUT", url(id), key: nil, Array(#"{"reactor":"alerts"}"#.utf8))
        }
        let follower = try BareFollower(url(ids[1]) + "/events?only=pulses,states")
        var (own, equal, post) = (Latencies(), Latencies(), Latencies())
        var (ownCost, equalCost) = (Cost(), Cost())
        let targets = ids.map { url($0) + "/actions" }
        for number in 1...count + 100 {
            let key = "\(run)-\(number)"
            var (start, cost) = (clock.now, Cost.now)
            try await session.send(.alert(message: "Hello, World!"))
            if number > 100 { own.add(clock.now - start) }
            // Work that a send leaves behind counts for that send, not for the next measurement.
            _ = await session.currentState
            if number > 100 { ownCost += Cost.now - cost }
            (start, cost) = (clock.now, Cost.now)
            try follower.send(targets[1], key: key, Self.body)
            if number > 100 { equal.add(clock.now - start) }
            if number > 100 { equalCost += Cost.now - cost }
            start = clock.now
            try bare.request("POST", targets[2], key: key, Self.body)
            if number > 100 { post.add(clock.now - start) }
        }
        await check(session, count + 100)
        print("send through the client      \(own.text), \(ownCost.text(of: count))")
        print("bare libcurl, with its event \(equal.text), \(equalCost.text(of: count))")
        print("  p50 \(ratio(own, equal, 0.5)), p99 \(ratio(own, equal, 0.99))")
        print("bare libcurl, response alone \(post.text)")
        print("  p50 \(ratio(own, post, 0.5)), p99 \(ratio(own, post, 0.99))")
        await session.leave()
    }

    private func ratio(_ own: Latencies, _ other: Latencies, _ share: Double) -> String {
        String(format: "%.2f ×", own.quantile(share) / other.quantile(share))
    }

    /// Submits actions as fast as the outbox takes them, and waits until all are applied.
    mutating func rate(_ count: Int, on sessionCount: Int) async throws {
        var sessions: [RemoteReactor<Alerts>] = []
        for index in 0..<sessionCount {
            sessions.append(
                try await client.session(
                    "\(run)-rate-\(sessionCount)-\(index)", of: "alerts", predicting: Alerts()))
        }
        let each = max(1, count / sessionCount)
        let start = clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions {
                // The outbox has room for 10 000 actions of all sessions.
                group.addTask {
                    try await Self.submit(each, by: min(100, 5_000 / sessionCount), to: session)
                }
            }
            try await group.waitForAll()
        }
        let seconds = (clock.now - start) / .seconds(1)
        for session in sessions {
            await check(session, each)
            await session.leave()
        }
        print(
            "actions a second             \(Int(Double(each * sessionCount) / seconds)) on \(sessionCount) session\(sessionCount == 1 ? "" : "s")"
        )
    }

    /// - Parameter window: the actions that are submitted while those before are under way.
    private static func submit(
        _ count: Int, by window: Int, to session: RemoteReactor<Alerts>
    ) async throws {
        var (first, last): (Ticket?, Ticket?)
        for number in 0..<count {
            if number % window == 0 {
                _ = try await first?.receipt()
                first = nil
            }
            last = try session.submit(.alert(message: "Hello, World!"))
            first = first ?? last
        }
        _ = try await last?.receipt()
    }

    /// Another connection posts batches of 100; this client's reader takes their pulses.
    mutating func events(_ count: Int) async throws {
        let id = "\(run)-events"
        let session = try await client.session(id, of: "alerts", as: Alerts.self)
        let batches = max(1, count / 100)
        var body: [UInt8] = [UInt8(ascii: "[")]
        for index in 0..<100 {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += Self.body
        }
        body.append(UInt8(ascii: "]"))
        let pulses = await session.pulse(\.$alertMessage, buffer: count + 1_000)
        let target = url(id) + "/actions"
        let batch = body
        // A reader that is further behind than the server keeps events gets a reset instead of
        // them: at most 1 000 are on their way.
        let window = DispatchSemaphore(value: 10)
        let start = clock.now
        Thread.detachNewThread {
            do {
                var bare = try BareConnection()
                for _ in 0..<batches {
                    window.wait()
                    try bare.request("POST", target, key: nil, batch)
                }
            } catch {
                print("PROBLEM: \(error)")
            }
        }
        var taken = -1  // the present value is the first
        for try await _ in pulses {
            taken += 1
            if taken.isMultiple(of: 100) { window.signal() }
            if taken == batches * 100 { break }
        }
        let seconds = (clock.now - start) / .seconds(1)
        print("events a second              \(Int(Double(taken) / seconds))")
        await session.leave()
    }

    /// The memory of sessions that are followed and silent.
    func memory(_ count: Int) async throws {
        let client = try ReactorClient(url)
        let (bytes, sockets) = (Self.residentBytes, Self.socketCount)
        let run = run
        let sessions = try await withThrowingTaskGroup(of: RemoteReactor<Alerts>.self) { group in
            // All at once: if they came one after the other, each would move the earlier ones to
            // another stream.
            for index in 0..<count {
                group.addTask {
                    try await client.session(
                        "\(run)-memory-\(index)", of: "alerts", predicting: Alerts())
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let each = Double(Self.residentBytes - bytes) / 1024 / Double(count)
        print(
            "memory of \(count) sessions      "
                + String(format: "%.1f KiB each", each)
                + ", \(Self.residentBytes / 1_048_576) MiB in all, "
                + "\(Self.socketCount - sockets) connections")
        for session in sessions { await session.leave() }
        await client.close()
    }

    private mutating func check(_ session: RemoteReactor<Alerts>, _ wanted: Int) async {
        let version = await session.version
        if version != UInt64(wanted) {
            faults.append("\(session.id): \(wanted) actions were sent, and \(version) applied")
        }
    }

    private func url(_ id: String) -> String { "\(url)/v1/sessions/\(id)" }

    private static let body = Array(#"{"type":"alert","message":"Hello, World!"}"#.utf8)

    /// proc(5).
    private static var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096
    }

    private static var socketCount: Int {
        let folder = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.count { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "\(folder)/\(name)")
            return target?.hasPrefix("socket:") ?? false
        }
    }
}
