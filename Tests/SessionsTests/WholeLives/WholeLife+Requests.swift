import Feeds
import JSONCoding
import Reactors
import ReactorHosting
import Sessions
import Storage

// The requests of clients, carried out like the server does.
extension WholeLife {
    /// The operations of the service, by their `operationId`. A test compares them with the table.
    enum Operation: String, CaseIterable {
        case listReactors, createSession, listSessions, putSession, readSession, deleteSession
        case postActions, streamPulses, streamActivities, streamStates, streamEvents, readLog
        case streamSessions, readRuntime, readPresence, putStub, readStub, publishTopic
        case createTicket, setCookie, removeCookie
        case livez, readyz, metrics, openapi, home, console, consoleFile
        case client, clientFile, clientOutbox, clientHook, demo, demoFile
    }

    /// Operations that reach neither a session nor a table of them.
    static let farFromSessions: Set<Operation> = [
        .listReactors, .createTicket, .setCookie, .removeCookie, .livez, .openapi, .home, .console,
        .consoleFile, .client, .clientFile, .clientOutbox,
        .clientHook, .demo, .demoFile,
    ]

    /// Carries out any operation of the service's table. A new operation is added here.
    func request(_ operation: Operation, _ id: String) {
        done.insert(operation)
        switch operation {
        case .postActions: post()
        case .putSession: put(id)
        case .createSession: create()
        case .readSession: read(id)
        case .deleteSession:
            guard chance(1, in: 2) || spoiled.contains(id) else { return }
            delete(id)
        case .streamPulses, .streamActivities, .streamStates, .streamEvents:
            stream(operation, id)
        case .readLog: if chance(1, in: 4) { stream(operation, id) } else { page(id) }
        case .streamSessions: streamSessions(id)
        case .readRuntime: readRuntime(id)
        case .readPresence: readPresence(id)
        case .putStub: putStub()
        case .readStub: reach(id, Request(operation: operation, id: id)) { $0.readStub(for: $1) }
        case .listSessions: list()
        case .publishTopic: publish()
        case .metrics: _ = (rig.table.count, rig.table.awakeCount, rig.table.subscriberCount)
        case .readyz: _ = rig.journal.failure
        case .listReactors, .createTicket, .setCookie, .removeCookie, .livez, .openapi, .home,
            .console,
            .consoleFile, .client, .clientFile, .clientOutbox,
            .clientHook, .demo, .demoFile:
            break
        }
    }

    /// Finds the session, or waits until it is loaded from the journal; then `act`.
    private func reach(
        _ id: String, _ request: Request, creates: Bool = false,
        _ act: @escaping (Session, UInt64) throws -> Void
    ) {
        let token = rig.nextToken()
        requests[token] = request
        guard let name = SessionID(own: id) else { return blame("\(id) is no id") }
        meet(name, token) { [self] found in
            do {
                let found = creates ? created(name, found, for: token) : found
                if let session = session(found, for: token) { try act(session, token) }
            } catch {
                said[token] = .refused
                record(error, token)
            }
        }
    }

    /// Creates the session if there is none. The request that follows in the same commit replies.
    private func created(
        _ name: SessionID, _ found: SessionLookup, for token: UInt64
    ) -> SessionLookup {
        guard case .nothing = found, let registration = registration(for: name.text) else {
            return found
        }
        begin(name, registration, ReaderToken.nobody)
        guard case .session(let session) = rig.table.find(name) else { return .noRoom }
        createdByActions += 1
        return .session(session)
    }

    /// Finds a session now or later; the result is discarded if the connection is gone.
    private func meet(
        _ name: SessionID, _ token: UInt64, _ act: @escaping (SessionLookup) -> Void
    ) {
        let found = rig.table.find(name)
        guard case .notInMemory = found else { return act(found) }
        rig.table.wake(name) { [unowned self] found in
            if !gone.contains(token) { act(found) }
        }
    }

    private func session(_ found: SessionLookup, for token: UInt64) -> Session? {
        switch found {
        case .session(let session): return session
        case .ended:
            checkEnded(token)
            said[token] = .ended
        case .nothing: said[token] = .nothing
        case .unreadable: said[token] = .unreadable
        case .noRoom, .overBudget: said[token] = .refused
        case .copy, .elsewhere, .noNode: blame("one process owns every session")
        case .quarantined(let fault):
            said[token] = .quarantined
            if !spoiled.contains(requests[token]?.id ?? "") { blame("quarantined: \(fault)") }
        case .notInMemory: blame("it was fetched, and is not in memory")
        }
        return nil
    }

    // MARK: Sessions

    private func delete(_ id: String) {
        let token = rig.nextToken()
        requests[token] = Request(operation: .deleteSession, id: id)
        guard let name = SessionID(id) else { return blame("\(id) is no id") }
        meet(name, token) { [self] in delete(name, $0, token) }
    }

    private func delete(_ name: SessionID, _ found: SessionLookup, _ token: UInt64) {
        switch found {
        case .quarantined, .unreadable:
            rig.table.delete(name) { [unowned self] deletion in
                guard !gone.contains(token) else { return }
                switch deletion {
                case .deleted:
                    said[token] = .deleted
                    let last = rig.journal.all.last { $0.session == name.text }
                    if last?.kind != .deleted, !losesEnd(of: name.text) {
                        blame("\(name.text) was not deleted")
                    }
                case .overtaken(let found):
                    if let session = session(found, for: token) { session.end(for: token) }
                case .unreadable: said[token] = .unreadable
                case .failed: said[token] = .notDeleted
                }
            }
        default: if let session = session(found, for: token) { session.end(for: token) }
        }
    }

    private func put(_ id: String) {
        let token = rig.nextToken()
        requests[token] = Request(operation: .putSession, id: id)
        guard let name = SessionID(id), let registration = registration(for: id) else { return }
        meet(name, token) { [self] found in
            if case .nothing = found { return begin(name, registration, token) }
            guard let session = session(found, for: token) else { return }
            guard confirms(session) else { return said[token] = .refused }
            session.acknowledgeExisting(for: token)
        }
    }

    private func begin(
        _ name: SessionID, _ registration: Registration, _ token: UInt64,
        from saved: SavedSession? = nil, of origin: (id: String, input: [UInt8]?)? = nil
    ) {
        guard rig.table.hasRoomForSession else { return said[token] = .refused }
        let owner = Self.owner(of: name.text)
        if let owner, owners.admit(owner) != .admitted { return said[token] = .refused }
        let creation = creation(of: name.text, registration, from: origin)
        do {
            try rig.table.create(name, registration, for: token, with: creation, from: saved)
        } catch {
            if let owner { owners.remove(owner) }
            blame("it can't begin: \(error)")
        }
    }

    private func registration(for id: String) -> Registration? {
        let kinds = scope.hasTasks ? registrations.count : 1
        if reactors[id] == nil {
            reactors[id] = registrations[Int.random(in: 0..<kinds, using: &generator)].name
        }
        return registrations.first { $0.name == reactors[id] }
    }

    /// Creates a session, or forks another one at a version.
    private func create() {
        guard ids.count < 12 else { return }
        lastNew += 1
        let id = "n\(lastNew)"
        guard let name = SessionID(id) else { return }
        guard chance(1, in: 2) else {
            let token = rig.nextToken()
            requests[token] = Request(operation: .createSession, id: id)
            ids.append(id)
            if let registration = registration(for: id) { begin(name, registration, token) }
            return
        }
        let origin = anyID()
        guard !stubbed.contains(origin) else { return }
        let part = Double.random(in: 0...1.2, using: &generator)
        let isOld = chance(2, in: 3)
        reach(origin, Request(operation: .createSession, id: origin)) { [self] session, token in
            let wanted = isOld ? UInt64(Double(session.version) * part) : nil
            session.export(wanted) { [self] exported in
                guard !gone.contains(token) else { return }
                guard case .success(let export) = exported else { return said[token] = .refused }
                var snapshot = export.snapshot
                checkExport(snapshot, of: session)
                snapshot.number = 0
                snapshot.version = 0
                snapshot.lastAction = 0
                var saved = SavedSession(
                    key: SessionKey(session: id, generation: ""),
                    reactor: session.registration.name)
                saved.snapshot = snapshot
                reactors[id] = session.registration.name
                ids.append(id)
                begin(
                    name, session.registration, token, from: saved, of: (origin, export.input))
                guard case .session(let fork) = rig.table.find(name) else { return }
                origins[SessionKey(session: id, generation: fork.generation.text)] = snapshot.state
            }
        }
    }

    private func read(_ id: String) {
        let part = Double.random(in: 0...1.1, using: &generator)
        let isOld = chance(1, in: 2)
        reach(id, Request(operation: .readSession, id: id)) { session, token in
            session.read(
                version: isOld ? UInt64(Double(session.version) * part) : nil, for: token)
        }
    }

    /// A look at a session loads none.
    private func readRuntime(_ id: String) {
        let token = rig.nextToken()
        requests[token] = Request(operation: .readRuntime, id: id)
        guard let name = SessionID(id) else { return blame("\(id) is no id") }
        rig.table.inspect(name, for: .anybody) { [unowned self] inspection in
            guard !gone.contains(token) else { return }
            switch inspection {
            case .awake(let session, let head): session.readRuntime(head, for: token)
            case .asleep(let head, let runtime):
                said[token] = .asleep
                checkAsleep(name, head, runtime)
            case .absent(let found):
                if let session = session(found, for: token) { blame("\(session.id) is absent") }
            }
        }
    }

    private func readPresence(_ id: String) {
        reach(id, Request(operation: .readPresence, id: id)) { [self] session, token in
            said[token] = .present
            checkPresent(session.feed)
        }
    }

    private func list() {
        if chance(1, in: 3) { return listByTags() }
        let token = rig.nextToken()
        requests[token] = Request(operation: .listSessions, id: "")
        var range = SessionRange(limit: Int.random(in: 1...4, using: &generator))
        if chance(1, in: 2) { range.after = anyID() }
        if chance(1, in: 3) {
            range.prefix = String(anyID().prefix(Int.random(in: 1...9, using: &generator)))
        }
        let isAsked = rig.table.page(range) { [unowned self, range] in
            guard !gone.contains(token) else { return }
            guard case .success(let heads) = $0 else { return said[token] = .unreadable }
            let ids = heads.map(\.key.session)
            checkList(ids, range)
            said[token] = .list(ids)
        }
        guard !isAsked else { return }
        let lines = rig.table.page(range).map(\.id.text)
        checkList(lines, range)
        said[token] = .list(lines)
    }

    // MARK: Actions

    private func post() {
        if chance(1, in: 3), let index = keyed.indices.randomElement(using: &generator) {
            let again = keyed[index]
            if chance(1, in: 2) { keyed.remove(at: index) }
            return post(
                again.body, again.mark, to: again.session, key: true, waits: again.waits)
        }
        lastMark += 1
        let (id, mark) = (anyID(), 1_000_000 + lastMark)
        _ = registration(for: id)
        let body = body(of: id, mark)
        let waits = chance(1, in: 4)
        guard chance(1, in: 2) else {
            return post(body, mark, to: id, key: false, waits: waits)
        }
        if chance(2, in: 3) { keyed.append((mark, id, body, waits)) }
        post(body, mark, to: id, key: true, waits: waits)
    }

    private func post(_ body: String, _ mark: Int, to id: String, key: Bool, waits: Bool) {
        var request = Request(operation: .postActions, id: id, mark: mark)
        request.waits = waits
        var condition: PositionCondition?
        if !key, chance(1, in: 5) {
            condition = positions[id]?.last.map { .oneOf([$0]) } ?? .any
        }
        // As the server does with large bodies.
        let isExamined = chance(1, in: 2)
        reach(id, request, creates: chance(1, in: 2)) { [self] session, token in
            let bytes = Array(body.utf8)
            var post = ActionPost(
                body: isExamined ? ActionBody(examining: bytes, hasKey: key) : ActionBody(bytes),
                token: token)
            post.key = key ? "key \(mark)" : nil
            post.condition = condition
            post.waits = waits
            post.subject = Self.subject(of: mark)
            if mark.isMultiple(of: 2) { post.trace = traces.trace(mark) }
            try session.post(post)
        }
    }

    private func body(of id: String, _ mark: Int) -> String {
        switch reactors[id] {
        case "player":
            "[{\"type\":\"mark\",\"number\":\(mark)},\(playerAction())"
                + "\(close(id, mark))\(decline(id, mark))]"
        case "clerk":
            "[{\"type\":\"mark\",\"number\":\(mark)},\(clerkAction())\(decline(id, mark))]"
        case "alarm":
            "[{\"type\":\"mark\",\"number\":\(mark)},\(alarmAction()),\(alarmAction())"
                + "\(decline(id, mark))]"
        case "branch":
            """
            [{"type":"mark","number":\(mark)},\
            {"type":"delegate","number":\(Int.random(in: 1...3, using: &generator))}]
            """
        default:
            "[\(Post.set(mark)),\(Simulation.body(&generator)),\(Simulation.body(&generator))"
                + "\(close(id, mark))\(decline(id, mark))]"
        }
    }

    private func playerAction() -> String {
        let name = ["a", "b", "again"].randomElement(using: &generator) ?? "a"
        switch Int.random(in: 0..<11, using: &generator) {
        case 10: return "{\"type\":\"ruin\"}"
        case 0..<6:
            let ending = Player.Ending.allCases.randomElement(using: &generator) ?? .well
            return """
                {"type":"play","id":"\(name)","policy":\(Int.random(in: 0..<3, using: &generator)),\
                "sends":\(Int.random(in: 1...2, using: &generator)),"ends":"\(ending.rawValue)"}
                """
        case 6: return "{\"type\":\"cancel\",\"id\":\"\(name)\"}"
        case 7: return "{\"type\":\"spoil\",\"isOn\":\(chance(1, in: 2))}"
        case 8: return Post.say("hello")
        default: return Post.fail
        }
    }

    private func clerkAction() -> String {
        let number = Int.random(in: 1...3, using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 5: return "{\"type\":\"ruin\",\"waits\":\(chance(1, in: 2))}"
        case 0, 1:
            let waits = Int.random(in: 0...2, using: &generator)
            return "{\"type\":\"work\",\"number\":\(number),\"waits\":\(waits)}"
        case 2: return "{\"type\":\"failLater\"}"
        case 3: return "{\"type\":\"yield\",\"number\":\(number)}"
        default: return Post.say("hello")
        }
    }

    private func putStub() {
        let id = "stub"
        if !ids.contains(id) { ids.append(id) }
        _ = registration(for: id)
        stubbed.insert(id)
        if chance(1, in: 3) { return put(id) }
        let body =
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: #"{"enabled":true}"#
            case 1: "{\"enabled\":true,\"state\":\(injectedState(of: id))}"
            default: #"{"enabled":false}"#
            }
        reach(id, Request(operation: .putStub, id: id)) {
            try $0.putStub(Array(body.utf8), for: $1)
        }
    }

    private func injectedState(of id: String) -> String {
        switch reactors[id] {
        case "player": #"{"mark":7,"announced":[],"isSpoiled":false,"ratio":1}"#
        case "clerk": #"{"mark":7,"work":0,"ratio":1}"#
        case "branch": #"{"mark":7,"delegated":0}"#
        case "alarm": #"{"mark":7,"rung":[]}"#
        default: #"{"a":7,"b":0,"touched":0,"filling":""}"#
        }
    }

    private func publish() {
        lastNews += 1
        // Some values are so large that a page of records has no value.
        let filling = String(repeating: "x", count: chance(1, in: 4) ? 23_000 : 0)
        let value = Array("\"\(lastNews)\(filling)\"".utf8)
        reach("$news", Request(operation: .publishTopic, id: "$news")) {
            try $0.post(ActionPost(body: ActionBody(publishing: value), token: $1))
        }
    }

    // MARK: Reading

    private func stream(_ operation: Operation, _ id: String) {
        guard readers.count < 12 else { return cut() }
        let parts: [Selection] =
            switch operation {
            case .streamPulses: [.allPulses]
            case .streamActivities: [.allActivities]
            case .streamStates: [.allStates, (try? .part("/name")) ?? .allStates]
            case .streamEvents: [.everything, Selection(pulses: .max, activities: true)]
            default: [.log]
            }
        readers.append((id, Reader(parts.randomElement(using: &generator) ?? .log)))
        connect(readers.count - 1, operation)
    }

    func connect(_ index: Int, _ operation: Operation = .streamEvents) {
        let id = readers[index].session
        let starts: [SubscriptionRequest.Start] = [.now, .snapshot, .start]
        let start = starts.randomElement(using: &generator) ?? .now
        let capacity = capacity()
        reach(id, Request(operation: operation, id: id)) { [self] session, token in
            // A reader that reconnected meanwhile has left this connection.
            readers[index].reader.connect(
                rig, to: session, capacity: capacity, from: start, for: token)
        }
    }

    func capacity() -> Int? {
        chance(1, in: 2) ? nil : Int.random(in: 0..<300, using: &generator)
    }

    /// Requests a page from the beginning, from a client's position, or from the edge of the kept
    /// history.
    private func page(_ id: String) {
        let kind = Int.random(in: 0..<6, using: &generator)
        let known = positions[id]?.randomElement(using: &generator)
        let back = UInt64.random(in: 0...UInt64(min(retention.records + 4, 30)), using: &generator)
        let limit = [1, 3, 100].randomElement(using: &generator) ?? 1
        reach(id, Request(operation: .readLog, id: id)) { [self] session, token in
            let number = session.position.number
            let after: String? =
                switch kind {
                case 0: nil
                case 1: known
                case 2: "no position"
                case 3: "\(session.generation.text).\(number + 7)"
                default: "\(session.generation.text).\(number - min(number, back))"
                }
            requests[token]?.after = after
            session.readLog(LogPageRequest(token: token, after: after, limit: limit))
        }
    }
}
