import Foundation
import Reactors
import Storage
import Testing

@testable import ReactorHosting

/// The reactor of the deployment that is rehearsed.
private struct Lamp: Reactor {
    enum Action: TaggedCodable, Sendable { case set(level: Int) }

    struct State: Codable, Sendable {
        var level = 0
    }

    static let stateVersion = 2

    static func migrate(state saved: SavedValue) throws -> State {
        struct Before: Decodable { var brightness: Int }
        return State(level: try saved.decode(Before.self).brightness)
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .set(let level): state.level = level
        }
    }
}

@Suite("A deployment is rehearsed on the journal's file", .timeLimit(.minutes(60)))
struct RehearsalTests {
    private let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "rehearsal-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// A session in an export: its creation, and a mutation for each level.
    private func session(
        _ id: String, reactor: String = "lamp", _ mutations: [String], snapshot: String? = nil
    ) -> [String] {
        var lines = [
            #"{"session":"\#(id)","reactor":"\#(reactor)","generation":"abcdefgh","created":0,"#
                + #""keptAfter":0,"keptVersion":0}"#,
            #"{"record":0,"kind":"created","version":0,"action":0,"time":0}"#,
        ]
        for (index, mutation) in mutations.enumerated() {
            let number = index + 1
            lines.append(
                #"{"record":\#(number),"kind":"mutation","version":\#(number),"action":\#(number),"#
                    + #""time":0,"content":\#(mutation)}"#)
        }
        if let snapshot { lines.append(snapshot) }
        return lines
    }

    /// Makes a journal of these sessions.
    private func journal(_ sessions: [[String]]) throws -> String {
        let lines = sessions.flatMap(\.self)
        func count(_ kind: String) -> Int { lines.count { $0.hasPrefix("{\"\(kind)\"") } }
        let end =
            #"{"end":\#(lines.count + 1),"sessions":\#(count("session")),"#
            + #""records":\#(count("record")),"snapshots":\#(count("snapshot")),"answers":0,"#
            + #""running":0,"tombstones":0,"timers":\#(count("timer"))}"#
        let path = folder + "/\(UUID().uuidString).sqlite"
        let importing = try JournalImport(into: path)
        for line in [#"{"journal":2}"#] + lines + [end] { try importing.add(Array(line.utf8)) }
        try importing.finish()
        return path
    }

    private func rehearse(_ path: String) throws -> JournalRehearsal {
        let registrations = try RunningServer.registrations([Hosted("lamp") { Lamp() }])
        var rehearsal = JournalRehearsal(registrations)
        try rehearsal.run(on: path)
        return rehearsal
    }

    private func set(_ level: Int) -> String { #"{"type":"set","level":\#(level)}"# }

    private func snapshot(_ version: Int, of stateVersion: Int, _ state: String) -> String {
        #"{"snapshot":\#(version),"version":\#(version),"lastAction":\#(version),"#
            + #""stateVersion":\#(stateVersion),"time":0,"state":\#(state)}"#
    }

    @Test func `sessions that wake are counted by the form of their snapshot`() throws {
        let path = try journal([
            session("a", [set(1), set(2)]),
            session("b", [set(1)], snapshot: snapshot(1, of: 2, #"{"level":1}"#)),
            session("c", [set(1)], snapshot: snapshot(1, of: 1, #"{"brightness":1}"#)),
        ])
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let rehearsal = try rehearse(path)
        #expect(rehearsal.sessions == 3)
        #expect(rehearsal.faults == [])
        #expect(
            rehearsal.forms == [
                .init(reactor: "lamp", stateVersion: nil): 1,
                .init(reactor: "lamp", stateVersion: 1): 1,
                .init(reactor: "lamp", stateVersion: 2): 1,
            ])
        let lines = rehearsal.report.split(separator: "\n")
        #expect(
            Array(lines.prefix(5)) == [
                "reactor  stateVersion  present  sessions",
                "lamp      no snapshot        2         1",
                "lamp                1        2         1",
                "lamp                2        2         1",
                "3 sessions: 0 would be quarantined or cannot be read",
            ])
        #expect(lines.last?.hasPrefix("waking takes ") == true)
        #expect(lines.count == 6)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before, "it is written to")
    }

    @Test func `each session that would be quarantined is named with the reason`() throws {
        let path = try journal([
            session("changed", [set(1), #"{"type":"dim"}"#, set(3)]),
            session("well", [set(1)]),
            session("old", [set(1)], snapshot: snapshot(1, of: 1, #"{"level":1}"#)),
            session("stranger", reactor: "bell", []),
        ])
        let rehearsal = try rehearse(path)
        #expect(rehearsal.sessions == 4)
        #expect(rehearsal.faultCount == 3)
        let (changed, old, stranger) = (
            rehearsal.faults.first, rehearsal.faults.dropFirst().first, rehearsal.faults.last
        )
        #expect(
            changed?.hasPrefix(
                "session changed of lamp would be quarantined: the mutation of version 2: ") == true
        )
        #expect(changed?.contains("dim") == true)
        #expect(
            old?.hasPrefix("session old of lamp would be quarantined: the snapshot of version 1: ")
                == true)
        #expect(
            stranger
                == "session stranger of bell would be quarantined: the reactor: nothing is hosted "
                + "here as bell")
        #expect(rehearsal.report.contains("4 sessions: 3 would be quarantined or cannot be read"))
    }

    @Test func `timers whose actions cannot be read are named, and their sessions wake`() throws {
        func timer(_ name: String, _ action: String) -> String {
            #"{"timer":"\#(name)","number":1,"due":7,"action":\#(action)}"#
        }
        let path = try journal([
            session("a", [set(1)]) + [timer("off", set(0)), timer("dim", #"{"type":"dim"}"#)]
        ])
        let rehearsal = try rehearse(path)
        #expect(rehearsal.faultCount == 0)
        #expect(rehearsal.lostTimers == 1)
        let fault = try #require(rehearsal.faults.first)
        #expect(
            fault.hasPrefix(
                "session a of lamp would lose a timer: the action of the timer dim can't be read any "
                    + "more: "))
        #expect(rehearsal.report.contains(fault))
        #expect(rehearsal.report.contains("1 timers would be lost\n"))
    }

    @Test func `a damaged record is reported, and the other sessions are read`() throws {
        let path = try journal([session("a", [set(1), set(2)]), session("b", [set(12_345)])])
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // The kind of record 1 of session b becomes one that there is not.
        let content = try #require(bytes.range(of: Data(set(12_345).utf8)))
        let head = Data("1 0 1 1 1 0 ".utf8)
        let place = try #require(
            bytes.range(of: head, options: .backwards, in: 0..<content.lowerBound))
        bytes[place.lowerBound + 4] = UInt8(ascii: "9")
        try bytes.write(to: URL(fileURLWithPath: path))
        let rehearsal = try rehearse(path)
        #expect(rehearsal.sessions == 2)
        #expect(
            rehearsal.faults == [
                "session b of lamp cannot be read: a record of the session b after record 0 is "
                    + "damaged"
            ])
    }

    @Test func `a file that is no journal, and one that is not there, are faults`() throws {
        let other = folder + "/notes.txt"
        try Data(String(repeating: "notes", count: 300).utf8).write(
            to: URL(fileURLWithPath: other))
        #expect(throws: JournalFileFault.notAJournal) { try rehearse(other) }
        #expect(throws: JournalFileFault.unusable("there is no such file")) {
            try rehearse(folder + "/none.sqlite")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["notes.txt"])
    }

    @Test func `faults beyond the limit are counted and not named`() throws {
        let path = try journal(
            (0..<JournalRehearsal.namedLimit + 3).map { session("s\($0)", reactor: "r\($0)", []) })
        let rehearsal = try rehearse(path)
        #expect(rehearsal.faults.count == JournalRehearsal.namedLimit)
        #expect(rehearsal.faultCount == JournalRehearsal.namedLimit + 3)
        #expect(rehearsal.forms.count == JournalRehearsal.formLimit)
        #expect(rehearsal.otherForms == 3)
        #expect(rehearsal.report.contains("\nand 3 more\n"))
        #expect(!rehearsal.report.contains("waking takes"), "no session wakes")
    }

    @Test func `the median and the longest time are of the sessions that wake`() throws {
        let rehearsal = try rehearse(try journal([session("only", [set(1)])]))
        let line = try #require(rehearsal.report.split(separator: "\n").last)
        let match = try #require(
            line.wholeMatch(
                of:
                    /waking takes (\d+\.\d{3}) ms in the median, (\d+\.\d{3}) ms at most \(session only\)/
            ))
        #expect(match.1 == match.2)
    }
}
