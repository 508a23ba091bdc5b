import struct ClientMachine.ClientLimits
import Reactors
import Synchronization
import Testing

@testable import ReactorClient

/// As the reactor, with mutations that can be decoded.
private struct Counting: Reactor {
    enum Action: TaggedCodable, Sendable, Equatable { case add(number: Int) }
    enum Mutation: TaggedCodable, Sendable, Equatable { case added(number: Int) }
    enum Activity: TaggedCodable, Sendable, Equatable { case hint(text: String) }
    struct State: Codable, Sendable { var count = 0 }
    let initialState = State()
    func mutate(state: State, action: Action) -> Effect<Mutation> { .none }
    func reduce(state: inout State, mutation: Mutation) {}
}

private func line(
    _ position: String, _ kind: String, _ content: String, _ more: String = ""
) -> String {
    #"{"position":"\#(position)","time":"2024-02-29T23:59:59.999Z","action":7\#(more),"kind":"\#(kind)","content":\#(content)}"#
}

extension ScriptedExchange {
    fileprivate func entry(
        _ kind: String, _ position: String, _ content: String = "null", _ more: String = ""
    ) {
        event(kind, position, line(position, kind, content, more))
    }
}

private func text(_ event: RemoteLogEvent?) -> String {
    switch event {
    case .entry(let entry): "\(entry.kind) \(entry.position)"
    case .reset(let reason): "reset \(reason)"
    case .ended(let reason): "ended \(reason)"
    case .failed(let problem): "failed \(problem.code)"
    case nil: "end"
    }
}

private final class Flag: Sendable {
    let value = Mutex(false)
}

@Suite("reading the action log of a remote session", .timeLimit(.minutes(60)))
struct LogReadingTests {
    @Test func `entries come once and in order over a cut, after the state at the call`()
        async throws
    {
        let rig = try Rig()
        let (room, stream) = try await rig.room()
        var counts = Reading(await room.state(\.count))
        stream.event("newestNote", at(4) + ".1", "null")
        stream.event("state", at(4), tally(4))
        stream.event("newestNote", at(5) + ".1", "null")
        #expect(try await counts.next(2) == [0, 4])
        var log = Reading(try await room.log())
        let first = await rig.transport.stream()
        // A part counts events there, and entries here.
        #expect(first.target == "/v1/sessions/room/log?after=\(at(4))")
        first.head()
        first.entry("action.received", at(5) + ".1")
        first.entry("mutation", at(5))
        first.send("event: mutation\nid: \(at(6))\n")
        #expect(
            try await log.next(2).map(text) == ["action.received \(at(5)).1", "mutation \(at(5))"])
        first.end(TransportFailure(.cancelled, "cut"))
        rig.client.wake()
        let second = await rig.transport.stream()
        #expect(second.target == "/v1/sessions/room/log?after=\(at(5))")
        second.head()
        second.event("reset", at(9), #"{"reason":"trimmed"}"#)
        second.entry("activity", at(10))
        second.send("event: end\ndata: {\"reason\":\"deleted\"}\n\n")
        #expect(
            try await log.next(9).map(text)
                == ["reset trimmed", "activity \(at(10))", "ended deleted"])
        await rig.client.close()
    }

    @Test func `a log begins at the start, after a position and after a version`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        let all = try await room.log(from: .start)
        #expect(await rig.transport.stream().target.hasSuffix("/log?from=start"))
        let position = try #require(Position(at(2) + ".3"))
        let later = try await room.log(from: .after(position))
        #expect(await rig.transport.stream().target.hasSuffix("/log?after=\(at(2)).3"))
        async let version = room.log(from: .version(3))
        let read = await rig.transport.request()
        #expect(read.target == "/v1/sessions/room?version=3")
        // The state may be one that this program cannot decode any more.
        read.answer(200, #"{"version":3,"position":"\#(at(8))","state":"old"}"#)
        let after = try await version
        #expect(await rig.transport.stream().target.hasSuffix("/log?after=\(at(8))"))
        let forgotten = Task { try await room.log(from: .version(1)) }
        await rig.transport.request().problem(404, "unknown_version")
        await #expect(throws: ClientFailure.refused(problem(404, "unknown_version"))) {
            _ = try await forgotten.value
        }
        withExtendedLifetime((all, later, after)) {}
        await rig.client.close()
    }

    @Test func `a reader sets the pace, and misses nothing`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        let isRead = Flag()
        async let connections = serve(rig.transport, until: isRead)
        var log = Reading(try await room.log(from: .start, buffer: 4))
        let events = try await log.next(60)
        #expect(events.map(text) == (1...50).map { "mutation \(at($0))" } + ["ended deleted"])
        isRead.value.withLock { $0 = true }
        let last = try await room.log()
        // At most four wait for the reader, which has read at least two before the next connection.
        let count = await connections
        #expect((2...25).contains(count))
        withExtendedLifetime(last) {}
        await rig.client.close()
    }

    /// Sends all that is left of 50 entries on each connection.
    private func serve(
        _ transport: ScriptedTransport, until isRead: Flag
    ) async -> Int {
        var count = 0
        while true {
            let stream = await transport.stream()
            if isRead.value.withLock(\.self) { return count }
            count += 1
            let newest = stream.target.split(separator: ".").last.flatMap { Int($0) } ?? 0
            stream.head()
            for number in newest + 1..<51 { stream.entry("mutation", at(number)) }
            stream.send("event: end\ndata: {\"reason\":\"deleted\"}\n\n")
        }
    }

    @Test func `an entry has its members, and the types of a reactor`() async throws {
        let rig = try Rig()
        let (room, _) = try await rig.room()
        var log = Reading(try await room.log(from: .start))
        let stream = await rig.transport.stream()
        stream.head()
        let contents: [(String, String, String)] = [
            ("action.received", #"{"received":{"type":"add","number":1},"key":"k"}"#, ""),
            (
                "action.received",
                #"{"received":{"type":"add","number":1},"transformed":{"type":"add","number":2}}"#,
                ""
            ),
            ("action.rejected", #"{"received":{"type":"add","number":3}}"#, ""),
            ("action.recorded", #"{"received":{"type":"add","number":4}}"#, ""),
            ("mutation", #"{"type":"added","number":5}"#, #","version":9"#),
            (
                "mutation.dropped",
                #"{"mutation":{"type":"added","number":6},"reason":"transform"}"#, ""
            ),
            ("state.replaced", "null", #","version":10"#),
            ("activity", #"{"type":"hint","text":"soon"}"#, ""),
            (
                "activity.dropped", #"{"activity":{"type":"hint","text":"late"},"reason":"ended"}"#,
                ""
            ),
            ("effect.started", #"{"step":3,"id":"work"}"#, ""),
            ("effect.ended", #"{"step":3}"#, ""),
            ("effect.cancelled", #"{"step":4}"#, ""),
            ("effect.failed", #"{"place":"effect","step":5,"error":"Fault"}"#, ""),
            ("effect.skipped", #"{"id":"work","reason":"first"}"#, ""),
            ("timer.set", #"{"name":"close","number":7,"due":"2024-03-01T00:00:00.000Z"}"#, ""),
            ("timer.fired", #"{"name":"close","number":7,"due":"2024-03-01T00:00:00.000Z"}"#, ""),
            ("timer.cancelled", #"{"name":"close"}"#, ""),
            ("source.ended", #"{"source":"feed"}"#, ""),
            ("source.failed", #"{"source":"feed","place":"source","error":"Fault"}"#, ""),
            ("hook.failed", #"{"place":"transformAction","error":"Fault"}"#, ""),
            ("cycler.willMutate", #"{"name":"x"}"#, ""),
            ("mutation", #"{"type":"removed"}"#, #","version":11"#),
        ]
        for (number, content) in contents.enumerated() {
            stream.entry(content.0, at(number + 1), content.1, content.2)
        }
        var events: [String] = []
        for event in try await log.next(contents.count) {
            guard case .entry(let entry) = event else { continue }
            #expect(entry.action == 7)
            #expect(entry.time == .milliseconds(1_709_251_199_999))
            events.append(describe(entry))
        }
        #expect(
            events == [
                "received 1 1", "received 1 2", "rejected 3", "recorded 4", "mutation 5 v9",
                "dropped 6 transform", "replaced v10", "activity soon", "dropped late",
                "started 3 work", "ended 3", "cancelled 4", "failed 5 Fault", "skipped work first",
                "timer close set", "timer close fired", "timer close cancelled",
                "source ended feed", "source failed feed Fault", "hook transformAction Fault",
                "undecodable aaaaaaaa.21", "undecodable aaaaaaaa.22",
            ])
        await rig.client.close()
    }

    @Test
    func `a log ends with its session, its reader and its client, and their number is bounded`()
        async throws
    {
        var configuration = ClientConfiguration()
        configuration.limits.logs = 2
        let rig = try Rig(configuration)
        let (room, _) = try await rig.room()
        var kept = Reading(try await room.log())
        let first = await rig.transport.stream()
        do {
            let dropped = try await room.log()
            let second = await rig.transport.stream()
            await #expect(throws: ClientFailure.self) { _ = try await room.log() }
            _ = dropped
            #expect(!second.isCancelled)
        }
        // Its place is free when the reader is gone.
        var last = Reading(try await room.log())
        _ = await rig.transport.stream()
        await room.leave()
        #expect(try await kept.next() == nil)
        #expect(try await last.next() == nil)
        await #expect(throws: ClientFailure.ended(.left)) { _ = try await room.log() }
        let (again, _) = try await rig.room()
        var open = Reading(try await again.log())
        await rig.client.close()
        #expect(first.isCancelled)
        #expect(try await open.next() == nil)
        await #expect(throws: ClientFailure.closed) { _ = try await again.log() }
    }
}

private func describe(_ entry: RemoteLogEntry) -> String {
    guard let typed = try? entry.entry(of: Counting.self) else {
        return "undecodable \(entry.position)"
    }
    return switch typed.event {
    case .received(.add(let number), .add(let transformed)): "received \(number) \(transformed)"
    case .rejected(.add(let number)): "rejected \(number)"
    case .recorded(.add(let number)): "recorded \(number)"
    case .mutation(.added(let number), let version): "mutation \(number) v\(version)"
    case .activity(.hint(let text)): "activity \(text)"
    case .effectStarted(let step): "started \(step.number) \(step.id?.name ?? "")"
    case .effectEnded(let step): "ended \(step.number)"
    case .effectCancelled(let step): "cancelled \(step.number)"
    case .effectFailed(let step, let error): "failed \(step?.number ?? 0) \(error)"
    case .effectSkipped(let id, let reason): "skipped \(id) \(reason)"
    case .timerSet(let name): "timer \(name) set"
    case .timerFired(let name): "timer \(name) fired"
    case .timerCancelled(let name): "timer \(name) cancelled"
    case .sourceEnded(let name): "source ended \(name)"
    case .sourceFailed(let name, let error): "source failed \(name) \(error)"
    case .hookFailed(let place, let error): "hook \(place) \(error)"
    case .droppedMutation(.added(let number), let reason): "dropped \(number) \(reason)"
    case .droppedActivity(.hint(let text)): "dropped \(text)"
    case .replaced(let version): "replaced v\(version)"
    }
}
