import JSONCoding
import Reactors

@testable import ClientMachine

/// The form of states on a stream whose client asks for patches.
enum PatchForm { case wholeStates, patches, faultyPatches, unknownParameter }

/// Turns the states of one connection into patches of the previous ones.
///
/// Design: separate from the server, so that any patch can be made invalid, and small states come
/// as patches too.
struct PatchedStream {
    enum Choice { case state, patch, impossiblePatch }

    /// The states that the client holds.
    private var states: [String: Tally.State]
    private let sessions: [String]
    private var block = ""
    private let choose: () -> Choice

    /// - Parameters:
    ///   - sessions: the sessions of the request, in its order.
    ///   - states: the states at the positions from which it resumes.
    init(_ sessions: [String], _ states: [String: Tally.State], _ choose: @escaping () -> Choice) {
        (self.sessions, self.states, self.choose) = (sessions, states, choose)
    }

    /// The bytes for the client. Those of an incomplete block come later.
    mutating func translate(_ bytes: [UInt8]) -> [UInt8] {
        var translated = ""
        for character in String(decoding: bytes, as: UTF8.self) {
            block.append(character)
            // A comment is complete after its line.
            let isWhole = block.hasSuffix(block.hasPrefix(":") ? "\n" : "\n\n")
            guard isWhole else { continue }
            translated += translate(block)
            block = ""
        }
        return Array(translated.utf8)
    }

    private mutating func translate(_ block: String) -> String {
        var lines = block.split(separator: "\n").map(String.init)
        guard let event = lines.firstIndex(where: { $0.hasPrefix("event: ") }),
            let data = lines.firstIndex(where: { $0.hasPrefix("data: ") })
        else { return block }
        let parts = lines[event].dropFirst(7).split(separator: "/").map(String.init)
        guard let name = parts.last, let session = parts.count > 1 ? parts[0] : sessions.first
        else { return block }
        switch name {
        case "reset": states[session] = nil
        case "snapshot":
            states[session] = Self.state(ofSnapshot: Array(lines[data].utf8.dropFirst(6)))
        case "state":
            guard let state = Self.state(Array(lines[data].utf8.dropFirst(6))) else { return block }
            defer { states[session] = state }
            guard let old = states[session] else { return block }
            let choice = choose()
            guard choice != .state else { return block }
            let impossible = choice == .impossiblePatch ? [#"{"op":"remove","path":"/none"}"#] : []
            let patch = (Self.operations(from: old, to: state) + impossible).joined(separator: ",")
            lines[event].removeLast("state".count)
            lines[event] += "patch"
            lines[data] = "data: [\(patch)]"
            return lines.joined(separator: "\n") + "\n\n"
        default: break
        }
        return block
    }

    private static func state(ofSnapshot bytes: [UInt8]) -> Tally.State? {
        state(JSON.members(of: bytes)?["state"] ?? bytes)
    }

    static func state(_ bytes: [UInt8]) -> Tally.State? {
        try? JSON.decode(Tally.State.self, from: bytes)
    }

    private static func operations(from old: Tally.State, to new: Tally.State) -> [String] {
        var operations: [String] = []
        if new.entries.starts(with: old.entries) {
            // Without an index, so that it gives a wrong state if the client applies it to another
            // one.
            operations += new.entries.dropFirst(old.entries.count).map {
                #"{"op":"add","path":"/entries/-","value":\#($0)}"#
            }
        } else {
            operations.append(
                #"{"op":"replace","path":"/entries","value":\#(new.entries)}"#)
        }
        if old.last != new.last {
            operations.append(#"{"op":"replace","path":"/last","value":\#(new.last)}"#)
        }
        if old.third != new.third {
            operations.append(#"{"op":"replace","path":"/third","value":\#(new.third)}"#)
        }
        return operations
    }
}

// Chooses which streams of a life have patches.
extension ClientLife {
    /// The request without the parameter for patches, and the object that makes the patches.
    ///
    /// - Returns: nil if the server does not know the parameter.
    func patched(_ request: ClientRequest) -> (ClientRequest, PatchedStream?)? {
        guard request.target.contains("&form=patch") else { return (request, nil) }
        guard patchForm != .unknownParameter else { return nil }
        var bare = request
        bare.target = request.target.replacing("&form=patch", with: "")
        guard patchForm != .wholeStates else { return (bare, nil) }
        let (sessions, after) = Self.positions(in: bare.target)
        var states: [String: Tally.State] = [:]
        for (session, position) in zip(sessions, after) {
            states[session] = position.flatMap { state(of: session, at: $0) }
        }
        return (bare, PatchedStream(sessions, states) { [unowned self] in choosePatch() })
    }

    private static func positions(in target: String) -> ([String], [StreamPosition?]) {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let items = (parts.last ?? "").split(separator: "&").map { item in
            item.split(separator: "=", maxSplits: 1).map(String.init)
        }
        let values = { (name: String) in items.filter { $0[0] == name }.map { $0[1] } }
        let named = values("session")
        let alone = parts[0].split(separator: "/").map(String.init)
        let after = values("after").first?.split(separator: ",").map { StreamPosition($0) } ?? []
        return (named.isEmpty ? [alone[2]] : named, after)
    }

    /// The state of a client that has seen everything up to a position.
    private func state(of session: String, at position: StreamPosition) -> Tally.State? {
        let record = position.recordBefore
        guard let log = logs.all[record.generation], log.session == session,
            let version = log.version(at: record.number)
        else { return nil }
        var state = Tally.State()
        for entry in log.entries.prefix(version) {
            Tally().reduce(state: &state, mutation: .append(entry: entry))
        }
        return state
    }

    /// The response of a server without patches.
    func refusePatches(_ flight: Flight) {
        remove(flight)
        let type = ClientRequest.Field("Content-Type", "application/problem+json")
        flight.client?.receive(.streamOpened(flight.id, ClientResponse(400, fields: [type])))
        let body = #"{"status":400,"code":"unknown_parameter","detail":"form"}"#
        flight.client?.receive(.streamBytes(flight.id, Array(body.utf8)))
        flight.client?.receive(.streamEnded(flight.id, failure: nil))
    }
}
