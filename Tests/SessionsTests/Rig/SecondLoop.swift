import Feeds
import Sessions
import Storage

/// Another loop of a rig's process, which has no sessions and shares the readers of the rig's.
///
/// Messages and connections between the loops wait, in order, until the rig delivers them.
final class SecondLoop {
    private enum Parcel {
        case messages([ReplicaMessage])
        case moved(UInt64, ReplicaOpening)
    }

    let table: SessionTable
    private let output: RecordingOutput
    private var toReaders: [Parcel] = []
    private var toSessions: [Parcel] = []
    /// Whether deliveries are left to later passes, as a loop leaves them.
    private let defersDeliveries: Bool
    private var isClosed = false

    /// The connections that have moved here.
    private(set) var moves = 0
    /// How often a reader here has lacked what the replica has dropped.
    var lags: Int { Int(table.feeds.replicas.lagged) }

    /// Whether nothing is on its way.
    var isEmpty: Bool {
        toReaders.isEmpty && toSessions.isEmpty && (isClosed || table.feeds.replicas.isAtRest)
    }

    init(_ output: RecordingOutput, _ limits: SessionLimits, defersDeliveries: Bool) {
        self.output = output
        self.defersDeliveries = defersDeliveries
        let (inbox, isolation) = (Inbox(), TestIsolation())
        table = SessionTable(
            journal: MemoryJournal(), limits: limits,
            services: LoopServices(
                now: { 0 }, hop: { inbox.put($0) },
                isolation: LoopIsolation(
                    check: { isolation.check() }, runAfterStop: { inbox.putLate($0) })))
        table.output = output
        table.feeds.replicas.begin(on: 1, of: 2, threshold: .max)
    }

    /// The process has ended.
    func close() {
        isClosed = true
        (toReaders, toSessions) = ([], [])
    }

    func move(_ token: UInt64, _ opening: ReplicaOpening) {
        moves += 1
        toReaders.append(.moved(token, opening))
    }

    /// The sessions send what they have for readers here, and move some of them.
    func collect(from home: SessionTable) {
        guard !isClosed else { return }
        home.feeds.replicas.flush(to: output) { messages, _ in toReaders.append(.messages(messages))
        }
    }

    /// Delivers what is on its way.
    ///
    /// - Returns: whether there was anything.
    func deliver(to home: SessionTable) -> Bool {
        collect(from: home)
        endRound()
        guard !isClosed, !toReaders.isEmpty || !toSessions.isEmpty else { return false }
        let (here, there) = (toReaders, toSessions)
        (toReaders, toSessions) = ([], [])
        for parcel in here { receive(parcel, at: table, from: 0) }
        for parcel in there { receive(parcel, at: home, from: 1) }
        endRound()
        return true
    }

    /// Delivers the first of what is on its way to the loop of the sessions.
    func deliverFirst(to home: SessionTable) {
        endRound()
        if !toSessions.isEmpty { receive(toSessions.removeFirst(), at: home, from: 1) }
    }

    private func receive(_ parcel: Parcel, at table: SessionTable, from loop: Int) {
        switch parcel {
        case .messages(let messages):
            table.feeds.replicas.receive(messages, from: loop, in: table.feeds)
        case .moved(let token, let opening):
            output.arrived(token, table.feeds.replicas.adopt(opening, as: token, in: table.feeds))
        }
    }

    /// Delivers everything that was left to later passes.
    func deliverAll() { table.deliverAll() }

    private func endRound() {
        guard !isClosed else { return }
        repeat {} while table.deliver() && !defersDeliveries
        table.feeds.replicas.flush(to: output) { messages, _ in
            toSessions.append(.messages(messages))
        }
    }
}
