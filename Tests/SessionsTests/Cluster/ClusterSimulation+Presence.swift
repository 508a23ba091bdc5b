import Clustering
import Storage

@testable import Feeds
@testable import Sessions

// The names of readers at several nodes.
extension ClusterSimulation {
    /// The parts of a session's readers. Each session has names of its own, so a set of another
    /// session is found. A session of a crowd has two readers. In some lives of the others nobody
    /// has a part.
    static func parts(of id: String, _ turn: Int, isCrowd: Bool) -> [ReaderPresence?] {
        guard !turn.isMultiple(of: 3) else { return [nil, nil] }
        func part(_ name: String?, _ getsEvents: Bool = true) -> ReaderPresence {
            ReaderPresence(
                name: name.map { ExactText("\($0)@\(id)") }, getsEvents: getsEvents)
        }
        let all = [part("ada"), part("bob"), nil, part("cy", false), part(nil), part("ada")]
        return (0..<(isCrowd ? 2 : 4)).map { all[(turn + $0) % all.count] }
    }

    /// In the end a reader of each session leaves for good, and links break until its name must be
    /// gone. Then the others connect again, and every node has the same set after their grace.
    func finishPresence() {
        for id in sessions {
            let named = readers.filter { $0.session.text == id && $0.part?.name != nil }
            if !named.isEmpty { named[number(0..<named.count)].disconnect() }
        }
        for _ in 0..<Self.breaks {
            links.breakLinks(to: processes[number(0..<processes.count)].node.node)
            pass(4_000)
        }
        for id in sessions { checkDeparted(of: id) }
        reconnect()
        // Nodes follow and claim sessions, and send their sets, in pauses of a second each.
        for time in [1_000, 1_000, 1_000, 4_000, 4_000, 1_000, 1_000, 1_000] { pass(Int64(time)) }
        for id in sessions { checkPresence(of: id) }
    }

    /// The name has its grace at the node of its reader, at the owner, and at a node that had it
    /// from there: 30 s, and a pause before each message.
    private static let breaks = 9

    /// The clients of half of the sessions connect again. Some nodes have no reader meanwhile.
    private func reconnect() {
        for id in sessions where number(0..<2) == 0 {
            let mine = open(id)
            for reader in mine { reader.disconnect() }
            for reader in mine { connect(reader, to: processes[number(0..<processes.count)]) }
        }
        settle()
    }

    private func pass(_ milliseconds: Int64) {
        advance(by: milliseconds)
        for process in processes {
            beat(process)
            process.rig.table.askForChanges()
        }
        settle()
        while links.count > 0 {
            while links.count > 0 { links.deliver(0) }
            settle()
        }
    }

    private func open(_ id: String) -> [WanderingReader] {
        readers.filter { $0.session.text == id && $0.isConnected }
    }

    /// No node has a name whose reader has left long ago.
    private func checkDeparted(of id: String) {
        let names = Set(open(id).compactMap { $0.part?.name })
        for process in processes {
            let known = process.feed(of: id)?.present.names ?? []
            if !names.isSuperset(of: known) {
                violations.append("a node has \(known) of \(id), and only \(names) are there")
            }
        }
    }

    /// The last set of each reader has the names of all readers of the session, at all nodes.
    private func checkPresence(of id: String) {
        let mine = readers.filter { $0.session.text == id }
        let open = open(id)
        let expected = PresentReaders(
            Set(open.compactMap { $0.part?.name }), others: open.count { $0.part?.name == nil })
        let data = String(decoding: expected.json, as: UTF8.self)
        let known = Set(mine.compactMap { $0.part?.name?.text })
        for reader in mine {
            let sets = reader.presences
            check(sets.joined(), of: reader, known)
            guard reader.isConnected, reader.part?.getsEvents ?? false else { continue }
            let last = sets.last?.last ?? "nobody"
            if last != data {
                violations.append("a reader of \(id) last saw \(last), and not \(data)")
            } else if open.contains(where: { $0.part?.name != nil && !$0.isBeside(reader) }) {
                presenceElsewhere += 1
            }
        }
        for process in processes {
            guard let feed = process.feed(of: id), feed.hasPresence, feed.present != expected else {
                continue
            }
            violations.append("a node of \(id) has \(feed.present), and not \(data)")
        }
    }

    /// No set has a name that no reader of the session ever had, and each has the reader's own.
    private func check(
        _ sets: some Sequence<String>, of reader: WanderingReader, _ known: Set<String>
    ) {
        if !(reader.part?.getsEvents ?? false), sets.contains(where: { _ in true }) {
            violations.append("a reader of \(reader.session.text) gets presence unasked")
        }
        for data in sets {
            let names = data.split(separator: "]")[0].split(separator: "\"").map(String.init)
                .filter { $0.contains("@") }
            if !known.isSuperset(of: names) {
                violations.append("a reader of \(reader.session.text) saw \(data)")
            }
            if let own = reader.part?.name, !names.contains(own.text) {
                violations.append("\(own.text) does not see itself in \(data)")
            }
        }
    }
}

extension ClusterSimulation.Process {
    /// The feed of a session that has readers here, or that this node owns.
    fileprivate func feed(of id: String) -> Feed? {
        SessionID(id).flatMap { rig.table.awake($0)?.feed ?? rig.table.asleep($0) }
    }
}
