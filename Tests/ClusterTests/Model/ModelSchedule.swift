import TestRandomness

/// One random schedule of the protocol: two or three nodes, one session, one database, in steps of
/// which each is one event: a claim, a load, a request, a statement that reads or commits, an
/// answer, a connection that is lost, a node that is killed, a failover.
final class ModelSchedule {
    let rules: ModelRules
    private let mix: ModelMix
    private var randomness: SeededGenerator
    private(set) var database = ModelDatabase()
    private let nodes: [ModelNode]
    private var statements: [ModelStatement] = []
    private(set) var requests: [ModelRequest] = []
    private var time = 0
    private var lastMark = 0

    init(seed: UInt64, _ rules: ModelRules, _ mix: ModelMix) {
        randomness = SeededGenerator(seed: seed)
        self.rules = rules
        nodes = (0..<(2 + Int(seed % 2))).map { ModelNode($0) }
        self.mix = mix
    }

    func run(steps: Int) {
        for _ in 0..<steps { step() }
    }

    private func step() {
        time += 1
        let node = nodes[chance(nodes.count)]
        switch mix.event(chance(mix.total)) {
        case .claim: claim(node)
        case .load: load(node)
        case .post: post(node)
        case .send: send(node)
        case .statement: advanceStatement()
        case .answer: answer(node)
        case .read: read(node)
        case .confirm: confirm(node)
        case .lostConnection: loseConnection(of: node)
        case .kill: kill(node)
        case .trim: trim()
        case .failover: failOver(losing: mix.isLossy ? chance(3) : 0)
        }
    }

    private func chance(_ count: Int) -> Int { Int.random(in: 0..<count, using: &randomness) }

    // MARK: Claims

    private func claim(_ node: ModelNode) {
        if node.isLive { invalidate(node) }
        guard node.pending == nil else { return }
        database.owner = node.index
        database.epoch += 1
        if database.sessionEra < database.era {
            if rules.contains(.drawsGeneration) { database.generation += 1 }
            database.sessionEra = database.era
        }
        node.epoch = database.epoch
        node.isLoading = true
    }

    private func load(_ node: ModelNode) {
        guard node.isLoading else { return }
        node.isLoading = false
        if rules.contains(.loadsInEraOfClaim), database.sessionEra != database.era { return }
        node.isLive = true
        node.end = database.end
        node.generation = database.generation
        node.era = database.era
    }

    /// Memory is not believed any more.
    private func invalidate(_ node: ModelNode) {
        for request in node.queue { request.end(.refused, at: time) }
        endReads(node)
        node.queue = []
        node.isLive = false
        node.isLoading = false
    }

    private func endReads(_ node: ModelNode) {
        for request in node.reads { request.end(.unavailable, at: time) }
        node.reads = []
    }

    // MARK: Posts

    private func post(_ node: ModelNode) {
        guard node.isLive, node.queue.count <= 4 else { return }
        lastMark += 1
        let request = ModelRequest(mark: lastMark, at: time)
        requests.append(request)
        node.queue.append(request)
    }

    private func send(_ node: ModelNode) {
        guard node.isLive, node.pending == nil, !node.queue.isEmpty else { return }
        let some = Array(node.queue.prefix(1 + chance(node.queue.count)))
        node.queue.removeFirst(some.count)
        node.lastBatch += 1
        let row = ModelDatabase.Row(
            after: node.end, last: node.end + some.count,
            batch: ModelDatabase.Batch(node: node.index, number: node.lastBatch),
            marks: some.compactMap(\.mark))
        let statement = ModelStatement(
            row, epoch: node.epoch, namedEra: node.era, era: database.era)
        statements.append(statement)
        node.pending = ModelNode.Pending(
            requests: some, row: row, era: node.era, statement: statement)
    }

    /// A statement reads the database, or commits.
    private func advanceStatement() {
        guard !statements.isEmpty else { return }
        let index = chance(statements.count)
        let statement = statements[index]
        guard statement.era == database.era else {
            // Its server process is gone.
            statements.remove(at: index)
            return
        }
        guard case .read(let isLetIn) = statement.state else {
            statement.state = .read(isLetIn: lets(statement))
            return
        }
        let collides = database.rows.contains { row in
            rules.contains(.keysByStart)
                ? row.after == statement.row.after : row.last == statement.row.last
        }
        if isLetIn && !collides { database.rows.append(statement.row) }
        statement.state = .committed(isLetIn && !collides)
        statements.remove(at: index)
    }

    private func lets(_ statement: ModelStatement) -> Bool {
        if rules.contains(.fences), let epoch = statement.epoch,
            database.epoch != epoch || database.owner != statement.row.batch.node
        {
            return false
        }
        if rules.contains(.namesEra),
            database.sessionEra != database.era || statement.namedEra != database.era
        {
            return false
        }
        return !rules.contains(.comparesPlaces) || database.end == statement.row.after
    }

    private func answer(_ node: ModelNode) {
        guard let pending = node.pending else { return }
        if pending.statement.isUnanswered { return resolveLost(node, pending) }
        guard case .committed(let isLetIn) = pending.statement.state else { return }
        if isLetIn { return succeed(node, pending) }
        // The reason is read with a statement of its own, which sees more.
        let row = database.rows.first { $0.after == pending.row.after }
        let isOwn =
            rules.contains(.recognisesItsOwn)
            ? row?.batch == pending.row.batch : row?.last == pending.row.last
        if isOwn { return succeed(node, pending) }
        let mayBeTrimmed = row == nil && database.end != pending.row.after && pending.tries > 1
        end(node, pending, mayBeTrimmed && rules.contains(.heedsTrimming) ? .unknown : .refused)
    }

    private func resolveLost(_ node: ModelNode, _ pending: ModelNode.Pending) {
        guard rules.contains(.resubmits) else { return end(node, pending, .refused) }
        if pending.tries > 6 || chance(100) < 15 || database.era != pending.era {
            return end(node, pending, .unknown)
        }
        let statement = ModelStatement(
            pending.row, epoch: rules.contains(.resubmitsWithoutFence) ? nil : node.epoch,
            namedEra: node.era, era: database.era)
        statements.append(statement)
        node.pending?.statement = statement
        node.pending?.tries += 1
    }

    private func succeed(_ node: ModelNode, _ pending: ModelNode.Pending) {
        node.pending = nil
        for (index, request) in pending.requests.enumerated() {
            request.end(
                .acknowledged, at: time, version: pending.row.after + index + 1,
                generation: node.generation)
        }
        node.end = pending.row.last
    }

    private func end(
        _ node: ModelNode, _ pending: ModelNode.Pending, _ outcome: ModelRequest.Outcome
    ) {
        for request in pending.requests { request.end(outcome, at: time) }
        node.pending = nil
        invalidate(node)
    }

    // MARK: Reads

    private func read(_ node: ModelNode) {
        guard node.isLive else { return }
        let request = ModelRequest(mark: nil, at: time)
        requests.append(request)
        node.reads.append(request)
    }

    private func confirm(_ node: ModelNode) {
        // Otherwise they wait for the commit, which confirms them.
        guard !node.reads.isEmpty, node.pending == nil, node.queue.isEmpty else { return }
        let isAsKnown =
            database.era == node.era && database.end == node.end
            && database.generation == node.generation
        guard isAsKnown || !rules.contains(.confirms) else { return invalidate(node) }
        for request in node.reads {
            request.end(.read, at: time, version: node.end, generation: node.generation)
        }
        node.reads = []
    }

    // MARK: Faults

    private func loseConnection(of node: ModelNode) {
        guard let statement = node.pending?.statement, !statement.isUnanswered else { return }
        statement.isUnanswered = true
        // It may not have arrived. Otherwise it is executed, at some time.
        guard case .sent = statement.state, chance(2) == 0 else { return }
        statements.removeAll { $0 === statement }
    }

    private func kill(_ node: ModelNode) {
        for request in node.queue + (node.pending?.requests ?? []) {
            request.end(.unknown, at: time)
        }
        endReads(node)
        node.queue = []
        node.pending = nil
        node.isLive = false
        node.isLoading = false
    }

    private func trim() {
        // A row is kept for longer than a statement takes: otherwise one that began before the row
        // was written would not collide with it.
        let mayCollide = statements.contains { statement in
            guard case .read = statement.state else { return false }
            return statement.row.after == database.rows.first?.after
        }
        if !mayCollide { database.trim() }
    }

    private func failOver(losing count: Int) {
        database.era += 1
        for statement in statements { statement.isUnanswered = true }
        for node in nodes { node.pending?.statement.isUnanswered = true }
        database.loseRows(count)
    }
}

/// A node with its memory of the session.
final class ModelNode {
    struct Pending {
        var requests: [ModelRequest]
        var row: ModelDatabase.Row
        var era: Int
        var statement: ModelStatement
        var tries = 1
    }

    let index: Int
    var isLive = false
    /// It has claimed the session and not loaded it yet.
    var isLoading = false
    var epoch = 0
    var end = 0
    var generation = 0
    var era = 1
    var lastBatch = 0
    /// Posts that are decided and not sent.
    var queue: [ModelRequest] = []
    var pending: Pending?
    var reads: [ModelRequest] = []

    init(_ index: Int) { self.index = index }
}
