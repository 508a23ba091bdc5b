import Feeds
import Sessions

/// A client of a cluster that connects again and again, perhaps at another node each time.
final class WanderingReader {
    private struct Connection {
        let rig: Rig
        let token: UInt64
        /// The id from which it asked to continue.
        let after: String?
    }

    let session: SessionID
    let selection: Selection
    /// Its part in the presence of the session.
    let part: ReaderPresence?
    private var connections: [Connection] = []

    init(_ session: SessionID, _ selection: Selection, _ part: ReaderPresence? = nil) {
        (self.session, self.selection, self.part) = (session, selection, part)
    }

    /// The sets of readers that each of its connections was sent, in order.
    var presences: [[String]] {
        connections.map { connection in
            Transcript(connection.rig.output.bytes(of: connection.token)).events
                .filter { $0.name == "presence" }.map(\.data)
        }
    }

    /// Whether it has a stream.
    var isConnected: Bool {
        connections.last.map { $0.rig.output.isStreaming($0.token) } ?? false
    }

    func isConnected(to rig: Rig) -> Bool { isConnected && connections.last?.rig === rig }

    /// Whether both are, or were last, connected to the same node.
    func isBeside(_ other: WanderingReader) -> Bool {
        connections.last?.rig === other.connections.last?.rig
    }

    /// The number of blocks that it has got.
    var heard: Int {
        connections.reduce(0) {
            $0 + Transcript($1.rig.output.bytes(of: $1.token)).events.count
        }
    }

    private var lastEventID: String? {
        for connection in connections.reversed() {
            let bytes = connection.rig.output.bytes(of: connection.token)
            let id = Transcript(bytes).lastEventID
            if !id.isEmpty { return id }
        }
        return nil
    }

    /// - Parameter act: Called when the session was found, or was not.
    func connect(to rig: Rig, then act: @escaping () -> Void = {}) {
        let (last, token) = (lastEventID, rig.nextToken())
        connections.append(Connection(rig: rig, token: token, after: last))
        rig.table.findForStream(session, for: nil, while: { true }) { [selection, part] found in
            act()
            guard let session = found.readable else { return }
            rig.subscribe(
                session, selection, last.map { .after($0) } ?? .snapshot, for: token,
                presence: part)
        }
    }

    func disconnect() {
        guard let last = connections.last else { return }
        if isConnected {
            last.rig.output.disconnect(last.token)
        } else {
            last.rig.output.lose(last.token)
        }
    }

    /// The events that were not the next ones, and whether anything is missing at the end.
    func violations(against truth: Truth) -> [String] {
        let all = truth.events(selection)
        var (place, violations) = (Int?.none, [String]())
        for connection in connections {
            let bytes = connection.rig.output.bytes(of: connection.token)
            if bytes.isEmpty, connection.after == nil { continue }
            place = connection.after.flatMap { Reader.place(after: $0, in: all) }
            if place == nil, let id = Reader.primed(bytes) {
                place = Reader.place(after: id, in: all)
            }
            for heard in Transcript(bytes).events {
                switch heard.name {
                case "presence": continue
                case "reset": violations.append("a stream gets \(heard)")
                case "snapshot":
                    place = Reader.place(after: heard.id, in: all)
                    if !isTrue(heard, truth) { violations.append("a stream gets \(heard)") }
                default:
                    guard let index = place, index < all.count, heard == all[index] else {
                        return violations + ["a stream gets \(heard), which is not the next event"]
                    }
                    place = index + 1
                }
            }
        }
        if place != all.count { violations.append("a stream of \(session.text) is not at its end") }
        return violations
    }

    private func isTrue(_ snapshot: Heard, _ truth: Truth) -> Bool {
        guard let position = Position(snapshot.id),
            let version = truth.version(at: position.number),
            version < UInt64(truth.states.count)
        else { return false }
        return switch (selection.wantsPulses, selection.states) {
        case (true, .none): snapshot.data == truth.pulses(at: version)
        case (false, .whole): snapshot.data == truth.states[Int(version)]
        default: true
        }
    }
}
