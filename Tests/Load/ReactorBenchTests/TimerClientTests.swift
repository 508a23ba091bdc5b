import Foundation
import Testing

@testable import reactor_bench

@Suite("A client that sets timers detects broken promises", .timeLimit(.minutes(60)))
struct TimerClientTests {
    /// A server of one client, with a fault or without; its clock is the client's.
    struct Model {
        enum Fault: CaseIterable {
            case none, lost, doubled, early, uncancelled, unreplaced, unrefused, overcancelled, kept
        }

        let fault: Fault
        private var timers: [(name: String, ring: String, due: UInt64)] = []
        private var rung: [String] = []

        init(_ fault: Fault) { self.fault = fault }

        mutating func answer(_ request: String, now: UInt64) -> (Int, String) {
            fire(now)
            if request.hasPrefix("PUT") {
                timers = []
                rung = []
                return (201, "{}")
            }
            guard request.hasPrefix("POST") else {
                let names = fault == .kept && !rung.isEmpty ? ["t1"] : timers.map(\.name)
                return (
                    200,
                    request.contains("/runtime")
                        ? #"{"timers":[\#(names.joined(separator: ","))]}"#
                        : #"{"state":{"rung":[\#(rung.joined(separator: ","))],"early":0}}"#
                )
            }
            let before = timers
            let isRefused = request.contains("decline")
            for action in request.split(separator: #"{"type":""#).dropFirst() {
                let name = Self.text("name", action) ?? Self.text("cancel", action) ?? ""
                if action.hasPrefix("set") {
                    if fault != .unreplaced { timers.removeAll { $0.name == name } }
                    let delay = UInt64(Self.text("after", action) ?? "") ?? 0
                    let due = now + (fault == .early ? delay / 2 : delay) * 1_000_000
                    timers.append((name, Self.text("ring", action) ?? "", due))
                } else if fault != .uncancelled, !(isRefused && fault == .unrefused) {
                    timers.removeAll { $0.name == name }
                }
            }
            guard isRefused else { return (200, "{}") }
            if fault == .overcancelled {
                timers = before.filter { old in timers.contains { $0.name == old.name } }
            } else if fault != .unrefused {
                timers = before
            }
            return (422, #"{"code":"action_refused"}"#)
        }

        private mutating func fire(_ now: UInt64) {
            for timer in timers where timer.due <= now {
                if fault == .lost, timer.ring == "5" { continue }
                rung += [String](repeating: timer.ring, count: fault == .doubled ? 2 : 1)
            }
            timers.removeAll { $0.due <= now }
        }

        private static func text(_ name: String, _ action: Substring) -> String? {
            guard let start = action.range(of: "\"\(name)\":")?.upperBound else { return nil }
            return String(action[start...].drop { $0 == "\"" }.prefix { !"\",}".contains($0) })
        }
    }

    /// The faults found, and the client, after it has used a number of sessions.
    private func play(_ fault: Model.Fault) -> (faults: [String], client: TimerClient) {
        var (model, client) = (Model(fault), TimerClient(name: "timers"))
        var random = SeededNumbers(seed: 1)
        var faults: [String] = []
        var now: UInt64 = 1_000_000_000
        while faults.isEmpty, !client.isDone {
            now += 20_000_000
            client.isFinishing = now > 200_000_000_000
            guard let bytes = client.request(now: now, host: "h", &random) else { continue }
            let (status, body) = model.answer(String(decoding: bytes, as: UTF8.self), now: now)
            faults += client.answered(status, Array(body.utf8), now: now)
        }
        return (faults, client)
    }

    @Test func `a server that keeps its promises has no fault`() {
        let (faults, client) = play(.none)
        #expect(faults == [])
        #expect(client.fired > 500)
        #expect(client.gone > 200)
    }

    @Test(arguments: Model.Fault.allCases.dropFirst())
    func `a server with a fault is found out`(fault: Model.Fault) {
        #expect(play(fault).faults.count == 1)
    }

    @Test func `an unanswered request is repeated, and a refusal for now is no answer`() {
        var (client, random) = (TimerClient(name: "timers"), SeededNumbers(seed: 1))
        _ = client.request(now: 0, host: "h", &random)
        _ = client.answered(201, [], now: 0)
        let first = client.request(now: 0, host: "h", &random)
        for status in [503, 504, 409] {
            let faults = client.answered(status, [], now: 0)
            #expect(faults == [])
            let early = client.request(now: 0, host: "h", &random)
            #expect(early == nil)
            let again = client.request(now: 1_000_000_000, host: "h", &random)
            #expect(again == first)
        }
    }
}
