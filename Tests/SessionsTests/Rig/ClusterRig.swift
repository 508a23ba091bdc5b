import Cluster
import Clustering
import Feeds
import Sessions
import Storage
import Testing

/// A cluster in one process: several tables on one scripted database.
struct ClusterRig {
    let cluster: ScriptedCluster
    private(set) var nodes: [ScriptedNode]
    private(set) var rigs: [Rig]

    init(
        _ count: Int, _ registrations: [Registration], isImmediate: Bool = true,
        hasFence: Bool = true, replicasFrom: Int = .max
    ) {
        self.init(
            hosting: Array(repeating: registrations, count: count), isImmediate: isImmediate,
            hasFence: hasFence, replicasFrom: replicasFrom)
    }

    /// - Parameters:
    ///   - hosted: What each node hosts.
    ///   - replicasFrom: The subscribers of a stream from which on another loop of the node
    ///     shares them.
    init(
        hosting hosted: [[Registration]], isImmediate: Bool = true, hasFence: Bool = true,
        replicasFrom: Int = .max
    ) {
        cluster = ScriptedCluster(hasFence: hasFence)
        nodes = []
        rigs = []
        for registrations in hosted {
            let number = Int64(nodes.count + 1)
            let node = ScriptedNode(
                number, of: cluster, isImmediate: isImmediate,
                reactors: Dictionary(
                    uniqueKeysWithValues: registrations.map { ($0.name, $0.stateVersion) }))
            nodes.append(node)
            rigs.append(
                Rig(
                    node: node, registrations: registrations, snapshotEvery: 4,
                    replicasFrom: replicasFrom))
        }
        for index in nodes.indices {
            let inbox = rigs[index].inbox
            nodes[index].watch { change in _ = inbox.put { $0.ownershipChanged(change) } }
            nodes[index].beat()
        }
        run()
    }

    subscript(index: Int) -> Rig { rigs[index] }

    /// Runs all jobs and ends all rounds, until nothing is left to do.
    func run() {
        repeat {
            for rig in rigs {
                rig.drainInbox()
                rig.endRound()
            }
        } while rigs.contains(where: \.hasWork)
    }

    /// Carries out all statements of all nodes, and what follows from them.
    func settle() {
        run()
        while nodes.contains(where: { $0.waitingCount > 0 }) {
            for node in nodes { node.settle() }
            run()
        }
    }

    func find(_ id: String, at index: Int) throws -> SessionLookup {
        let name = try #require(SessionID(id))
        let table = rigs[index].table
        let present = table.find(name)
        guard case .notInMemory = present else { return present }
        var found: SessionLookup?
        table.wake(name) { found = $0 }
        settle()
        return try #require(found)
    }

    func wake(_ id: String, at index: Int) throws -> Session {
        guard case .session(let session) = try find(id, at: index) else {
            throw Rig.NoSession(id: id)
        }
        return session
    }

    /// Posts, and returns the answer.
    func post(_ body: String, to session: Session, at index: Int) throws -> String {
        let token = try rigs[index].post(body, to: session)
        settle()
        return rigs[index].line(token)
    }

    /// Opens a stream at a node that need not own the session.
    func stream(
        _ id: String, at index: Int, _ selection: Selection = .allPulses,
        _ start: SubscriptionRequest.Start = .snapshot, capacity: Int? = nil
    ) throws -> UInt64 {
        let token = try request(id, at: index, selection, start, capacity: capacity)
        settle()
        return token
    }

    /// The same before the journal has answered.
    func request(
        _ id: String, at index: Int, _ selection: Selection = .allPulses,
        _ start: SubscriptionRequest.Start = .snapshot, capacity: Int? = nil,
        for client: WorkClient? = nil, while isWanted: @autoclosure @escaping () -> Bool = true,
        refused: @escaping (SessionLookup) -> Void = { _ in }
    ) throws -> UInt64 {
        let (rig, name) = (rigs[index], try #require(SessionID(id)))
        let token = rig.nextToken()
        rig.output.clients[token] = client
        rig.table.findForStream(name, for: client, while: isWanted) { found in
            guard let session = found.readable else { return refused(found) }
            rig.subscribe(session, selection, start, capacity: capacity, for: token)
        }
        return token
    }

    /// A quarter of a second is over: the node looks at the sessions that it follows.
    func look(at index: Int) {
        rigs[index].clock.uptime += 250
        rigs[index].table.askForChanges()
        settle()
    }

    /// The lease of the node is over, by the database's clock alone.
    func expire(_ index: Int) { cluster.leave(nodes[index].node) }

    /// A beat of the node reaches the database, and it hears of the others.
    func beat(_ index: Int, joins: Bool = true) {
        if joins { cluster.join(nodes[index].member) }
        nodes[index].beat(owning: rigs[index].table.owned)
        rigs[index].drainInbox()
        rigs[index].endRound()
    }
}
