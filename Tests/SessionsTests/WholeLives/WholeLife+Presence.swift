import Feeds
import Storage

// The names of readers.
extension WholeLife {
    /// Derived from the token, so that the rest of a life does not depend on it. Readers of several
    /// sessions have none.
    static func part(of token: UInt64) -> ReaderPresence? {
        guard token % 4 != 0 else { return nil }
        let names: [ExactText?] = ["ada", "bob", nil, "cy", "dot"]
        return ReaderPresence(
            name: names[Int(token / 4 % UInt64(names.count))], getsEvents: token % 4 != 1)
    }

    /// The tokens of the readers of a session that are connected.
    private func connected(_ id: String) -> [UInt64] {
        readers.filter { $0.session == id }
            .flatMap(\.reader.connections).map(\.token).filter(rig.output.isStreaming)
    }

    /// Each connected reader is present under its name.
    func checkPresent(_ feed: Feed) {
        guard let names = feed.present.names else { return blame("there are few names") }
        for token in connected(feed.id.text) where rig.output.subscribers[token] != nil {
            guard let name = Self.part(of: token)?.name, !names.contains(name) else { continue }
            blame("\(name) reads \(feed.id.text) and is not present")
        }
    }

    /// After the grace of departed readers, each reader's last event has exactly the names of the
    /// connected ones. Only a reader's last connection accepts every byte.
    func checkPresence() {
        for _ in 0..<3 {
            rig.clock.uptime += 10_000
            rig.settleAll()
        }
        for id in ids {
            let tokens = connected(id)
            let names = Set(tokens.compactMap { Self.part(of: $0)?.name })
            let last = Set(readers.compactMap(\.reader.connections.last?.token))
            for token in tokens
            where last.contains(token) && Self.part(of: token)?.getsEvents ?? false {
                let events = rig.transcript(token).events.filter { $0.name == "presence" }
                let present = names.map(\.text).sorted().map { "\"\($0)\"" }
                let expected = "{\"present\":[\(present.joined(separator: ","))],"
                if events.last?.data.hasPrefix(expected) ?? false {
                    presenceSeen += 1
                } else {
                    blame(
                        "reader \(token) of \(id) saw \(events.last?.data ?? "nobody"), "
                            + "not \(expected)")
                }
            }
        }
    }
}
