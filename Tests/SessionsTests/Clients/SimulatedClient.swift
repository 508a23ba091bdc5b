import Feeds
import JSONCoding
import TestRandomness
import Testing

@testable import ClientMachine

/// One client machine with its program, over several lives of the program's process.
///
/// Design: everything that a real owner does with a machine's outputs happens here, and each
/// output is checked against what was committed. The disk keeps what is durable, and nothing
/// else survives.
final class SimulatedClient {
    unowned let world: ClientLife
    let name: String
    private(set) var machine: ClientMachine
    /// The number of the present process.
    private(set) var life = 0
    var views: [SessionName: SessionView] = [:]
    /// All that are known to the program, by their tickets.
    private(set) var sends: [Ticket: SimulatedSend] = [:]
    private(set) var wakeAt: Duration?
    private var bootedAt: Int64
    private let limits: ClientLimits
    /// The send that waits for its ticket.
    private var submitted: SimulatedSend?
    /// The positions that the program has saved, with what it had received by then.
    private var savedPositions:
        [SessionName: (position: StreamPosition, place: SessionView.Place?)] =
            [:]

    /// The outbox could not be written.
    private(set) var isBroken = false
    private var changes: [OutboxChange] = []
    /// Changes that are being written.
    private(set) var writing: [(number: UInt64, changes: [OutboxChange])] = []
    /// The bodies of durable requests, by their keys.
    private var savedBodies: [String: [UInt8]] = [:]
    /// Questions for a credential.
    private(set) var questions: [(id: AttemptID, refused: String?)] = []

    init(_ name: String, _ world: ClientLife, _ limits: ClientLimits) {
        self.name = name
        self.world = world
        self.limits = limits
        bootedAt = world.time
        machine = Self.makeMachine(Outbox(), world, limits)
    }

    private static func makeMachine(
        _ outbox: Outbox, _ world: ClientLife, _ limits: ClientLimits
    ) -> ClientMachine {
        ClientMachine(
            server: ServerAddress(origin: "http://localhost"), outbox: outbox,
            asksForCredentials: world.server.tokens.areNeeded, limits: limits,
            using: SeededGenerator(seed: world.random(.max)))
    }

    func blame(_ fault: String) { world.blame("\(name): \(fault)") }

    /// In the order of their tickets.
    var orderedSends: [(Ticket, SimulatedSend)] { sends.sorted { $0.key < $1.key } }

    var now: ClientInstant {
        ClientInstant(
            uptime: .milliseconds(world.time - bootedAt),
            date: 1_800_000_000 + world.time / 1_000 + world.dateOffset)
    }

    // MARK: Inputs

    func receive(_ input: Input) {
        let outputs = machine.receive(input, at: now)
        world.record("\(name) ← \(Self.text(input))")
        for ticket in machine.outbox.settlements.keys { sends[ticket]?.isEnding = true }
        for output in outputs { perform(output) }
        for session in views.keys.sorted(by: { $0.text < $1.text }) { checkShown(session) }
        checkBounds()
    }

    private static func text(_ input: Input) -> String {
        switch input {
        case .streamBytes(let id, let bytes):
            "bytes \(id.number) \(String(decoding: bytes, as: UTF8.self).debugDescription)"
        case .answered(let id, let response):
            "answered \(id.number) \(response.status) "
                + String(decoding: response.body.prefix(90), as: UTF8.self)
        case .send(let session, let actions, _):
            "send \(session) " + actions.map { String(decoding: $0, as: UTF8.self) }.joined()
        default: "\(input)".replacing("ClientMachine.", with: "")
        }
    }

    func timePassed() {
        if let wakeAt, wakeAt <= now.uptime { receive(.timer) }
    }

    // MARK: Outputs

    private func perform(_ output: Output) {
        switch output {
        case .persist(let number, let new):
            writing.append((number, new))
            if world.savesAtOnce { world.later { [self] in finishWriting(1) } }
        case .request(let id, let request):
            world.record("\(name) → \(id.number) \(request.method) \(request.target)")
            checkSaved(request)
            world.launch(request, id, of: self, isStream: false)
        case .openStream(let id, let request):
            world.record("\(name) → \(id.number) stream \(request.target)")
            world.launch(request, id, of: self, isStream: true)
        case .cancelRequest(let id), .closeStream(let id): world.abandon(id, of: self)
        case .askForCredential(let id, let refused): questions.append((id, refused))
        case .deliver(let session, let delivery): receive(delivery, session)
        case .wakeMe(let time): wakeAt = time
        case .deliverLog, .keepState: break
        }
    }

    /// A request has left: it is durable, and its key always has the same bytes.
    private func checkSaved(_ request: ClientRequest) {
        guard let key = request.fields.first(where: { $0.name == "Idempotency-Key" })?.value else {
            return
        }
        if savedBodies[key] != request.body { blame("\(key) leaves before it is durable") }
        world.check(key, request.body, of: self)
    }

    private func receive(_ delivery: Delivery, _ session: SessionName) {
        world.record("    \(name) \(session): \(Self.text(delivery))")
        switch delivery {
        case .accepted(let ticket):
            guard let send = submitted else { return blame("nothing was sent") }
            if sends[ticket] != nil { blame("the ticket \(ticket.number) is used twice") }
            sends[ticket] = send
            submitted = nil
        case .notAccepted: submitted = nil
        case .outcome(let ticket, let outcome): receive(outcome, ticket)
        case .snapshot(let snapshot): receive(snapshot, session)
        case .state(let event, let isConfirmed):
            receive(event, isConfirmed: isConfirmed, session)
        case .event(let event): receive(event, session)
        case .shown(let change): views[session]?.projection.show(change)
        case .reset: views[session]?.place = nil
        case .presence: blame("nobody has asked who is present")
        case .ended(let reason):
            views[session]?.hasEnded = true
            views[session]?.place = nil
            let lives = world.logs.lives(of: session.text)
            if reason == .deleted, !lives.contains(where: \.log.isDeleted) {
                blame("\(session) ends as deleted, and nobody has deleted it")
            }
        case .status(let status):
            views[session]?.status = status.link
            if case .waiting(_, let why) = status.link, world.patchCounts.impossible == 0,
                why.contains("a patch does not apply")
            {
                blame("\(session) does not apply a patch: \(why)")
            }
            if case .failed(let problem) = status.link { checkOrigin(problem, "fails \(session)") }
        }
    }

    private static func text(_ delivery: Delivery) -> String {
        switch delivery {
        case .shown(let change):
            "shown\(change.advancesBase ? " base" : "") -\(change.left.map(\.number)) "
                + "+\(change.joined.map(\.ticket.number))"
        case .snapshot(let snapshot): "snapshot \(snapshot.position.text)"
        case .state(let event, let isConfirmed):
            "state \(event.position.text) \(isConfirmed) \(event.cause ?? "")"
        case .event(let event): "\(event.name) \(event.position.text)"
        default: "\(delivery)".replacing("ClientMachine.", with: "")
        }
    }

    // MARK: Outcomes

    private func receive(_ outcome: TicketOutcome, _ ticket: Ticket) {
        guard let send = sends[ticket] else { return blame("nobody has sent \(ticket.number)") }
        let end: SimulatedSend.End
        switch outcome {
        case .queued:
            sends[ticket]?.isQueued = true
            if !durable.isKnown(ticket) { blame("\(ticket.number) is not durable") }
            return
        case .sent: return
        case .applied(let receipt):
            end = .applied(receipt)
            checkApplied(ticket, send, receipt)
        case .refused(let problem, _):
            end = .refused(problem)
            checkOrigin(problem, "refuses \(ticket.number)")
        case .inDoubt: end = .inDoubt
        case .discarded:
            end = .discarded
        case .outboxUnavailable: end = .notDurable
        case .stored: return
        }
        if let earlier = send.end {
            blame("\(ticket.number) ends as \(end.word) after \(earlier.word)")
        }
        sends[ticket]?.end = end
        switch end {
        case .refused, .discarded:
            if let send = sends[ticket] { checkAbsent(ticket, send, "is \(end.word)") }
        default: break
        }
    }

    /// Oracle 1: only the service refuses.
    private func checkOrigin(_ problem: ProblemDetails, _ what: String) {
        let codes = [
            "not_an_action", "action_failed", "batch_too_large", "position_changed",
            "unknown_session", "session_ended", "unknown_reactor", "action_refused",
        ]
        if !codes.contains(problem.code) { blame("\(problem) \(what)") }
    }

    /// Oracle 1: each action is in the log of its life exactly once.
    private func checkApplied(_ ticket: Ticket, _ send: SimulatedSend, _ receipt: Receipt) {
        guard let log = world.logs.all[receipt.position.generation],
            log.session == send.session.text
        else { return blame("\(ticket.number) is applied in no life of \(send.session)") }
        if send.isDeclined { blame("\(ticket.number), \(send.marks), is applied, not refused") }
        for (index, action) in send.actions.enumerated() {
            guard let action else { blame("\(ticket.number) is applied, and no action"); continue }
            let count = log.entries.count { action.possibleEntries.contains($0) }
            let due = action.entries(after: []).count
            if count != due { blame("\(ticket.number), \(action), is there \(count) times") }
            if case .say(let mark) = action, log.activities.count(where: { $0 == mark }) != 1 {
                blame("\(ticket.number), \(action), is not there once")
            }
            guard receipt.version != nil else { continue }
            var isRejected = false
            if case .refuse = action { isRejected = true }
            if receipt.rejected.contains(index) != isRejected {
                blame("\(ticket.number), \(action): the rejected ones are \(receipt.rejected)")
            }
        }
    }

    /// Nothing of it was applied. What an earlier life of the session had is lost with it.
    private func checkAbsent(_ ticket: Ticket, _ send: SimulatedSend, _ what: String) {
        // A copy of a request can be carried out although the request was refused.
        if world.hasDoubled, case .refused(let problem)? = send.end, problem.status != 422 {
            return
        }
        let lives = world.logs.lives(of: send.session.text)
        guard lives.count == 1, let log = lives.first?.log else { return }
        if !Set(log.entries).isDisjoint(with: send.possibleEntries) {
            blame("\(ticket.number), \(send.marks), \(what) and is in the log")
        }
    }

    // MARK: The program

    func send(
        _ actions: [Tally.Action?], to session: SessionName, options: SendOptions = .init()
    ) {
        submitted = SimulatedSend(session: session, actions: actions)
        let bytes = actions.map { action -> [UInt8] in
            var bytes: [UInt8] = []
            guard let action, (try? JSON.encode(action, into: &bytes)) != nil else {
                return Array(#"{"type":"bogus"}"#.utf8)
            }
            return bytes
        }
        receive(.send(session, bytes, options))
    }

    func discard(_ ticket: Ticket) {
        guard let session = sends[ticket]?.session else { return }
        let isWaiting = machine.outbox[session].queued.contains { $0.ticket == ticket }
        // A copy shows it beforehand: the first input of a process sends what has waited.
        var copy = machine
        _ = copy.receive(.discard(ticket, session), at: now)
        let stays = copy.outbox[session].entries.contains { $0.ticket == ticket }
        if isWaiting, !stays { sends[ticket]?.isEnding = true }
        receive(.discard(ticket, session))
    }

    func follow(_ session: SessionName, _ following: Following) {
        if views[session] == nil {
            views[session] = SessionView(
                following, place: following.after == nil ? nil : savedPositions[session]?.place)
        } else {
            views[session]?.following = following
            views[session]?.hasEnded = false
        }
        receive(.follow(session, following))
    }

    func leave(_ session: SessionName) {
        views[session] = nil
        receive(.leave(session))
    }

    func savePosition(_ session: SessionName) {
        guard let position = machine.position(session), let view = views[session],
            view.following.demand.pulses == .none || view.place != nil
        else { return }
        savedPositions[session] = (position, view.place)
    }

    func savedPosition(_ session: SessionName) -> StreamPosition? {
        savedPositions[session]?.position
    }

    func answer(_ credential: Credential?, at index: Int) {
        receive(.credential(questions.remove(at: index).id, credential))
    }

    // MARK: The disk

    /// The outbox that a new process would find.
    var durable: Outbox {
        if let outbox = Outbox(replaying: changes) { return outbox }
        blame("a change of the outbox does not follow from those before it")
        return Outbox()
    }

    private func write(_ new: [OutboxChange]) {
        changes += new
        for case .sent(_, let key, let body, _, _) in new { savedBodies[key.text] = body }
    }

    func finishWriting(_ count: Int) {
        for _ in 0..<min(count, writing.count) {
            let (number, new) = writing.removeFirst()
            write(new)
            receive(.persisted(number))
        }
    }

    func failWriting() {
        writing = []
        isBroken = true
        receive(.persistFailed("the disk is full"))
    }

    /// Rewrites the file as its present outbox.
    func compact() {
        changes = durable.changes
    }

    /// The process is killed when some of the changes are durable, and another one begins.
    func restart(writing count: Int) {
        for (_, new) in writing.prefix(count) { write(new) }
        writing = []
        world.forget(self)
        life += 1
        isBroken = false
        (views, questions, wakeAt, submitted) = ([:], [], nil, nil)
        bootedAt = world.time - Int64(world.random(1_000))
        let outbox = durable
        restoreSends(outbox)
        machine = Self.makeMachine(outbox, world, limits)
        world.record("\(name) starts again with \(outbox.actionCount) actions")
    }

    /// Oracle 1: nothing that was durable vanishes unreported.
    private func restoreSends(_ outbox: Outbox) {
        let queued = Set(outbox.lanes.values.flatMap(\.entries).map(\.ticket))
        for (ticket, send) in orderedSends {
            if queued.contains(ticket) {
                if case .discarded? = send.end {
                    blame("\(ticket.number) is back, though discarded")
                }
                sends[ticket]?.end = nil
                sends[ticket]?.isEnding = false
            } else if let settlement = outbox.settlements[ticket] {
                switch settlement.outcome {
                case .refused(let problem): sends[ticket]?.end = .refused(problem)
                case .inDoubt: sends[ticket]?.end = .inDoubt
                }
            } else if ticket >= outbox.nextTicket {
                if send.isQueued { blame("\(ticket.number) was durable, and is lost") }
                sends[ticket] = nil
            } else if send.end == nil, send.isEnding {
                // Taken back, or seen before it was reported.
                sends[ticket]?.end = .unreported
            } else if send.end == nil {
                sends[ticket]?.end = .unreported
                let isThere = world.logs.lives(of: send.session.text).contains { _, log in
                    send.actions.allSatisfy { action in
                        guard let action else { return false }
                        let due = action.entries(after: []).count
                        return log.entries.count { action.possibleEntries.contains($0) } == due
                    }
                }
                if !isThere { blame("\(ticket.number), \(send.marks), vanishes unreported") }
            }
        }
    }

    // MARK: In the end

    /// Oracle 1: the program knows how each send has ended.
    func checkEnds() {
        for (ticket, send) in orderedSends {
            switch send.end {
            case nil: blame("\(ticket.number), \(send.marks), has no end")
            case .applied(let receipt)?: checkApplied(ticket, send, receipt)
            case .refused?, .discarded?: checkAbsent(ticket, send, "is \(send.end?.word ?? "")")
            case .inDoubt?, .notDurable?, .unreported?: break
            }
        }
    }

    /// Oracle 2: applied in the order in which they were sent.
    func checkOrder(_ generation: String, _ log: SessionLog) {
        var due: [Int] = []
        for (_, send) in orderedSends where send.session.text == log.session {
            guard case .applied(let receipt)? = send.end,
                receipt.position.generation == generation
            else { continue }
            due += send.possibleEntries
        }
        let there = Set(log.entries)
        due.removeAll { !there.contains($0) }
        let own = Set(due)
        let order = log.entries.filter(own.contains)
        if order != due { blame("\(order) is the order in \(generation), not \(due)") }
    }

    // MARK: Bounds

    /// Oracle 6.
    private func checkBounds() {
        if machine.outbox.actionCount > limits.actionsInOutbox {
            blame("the outbox has \(machine.outbox.actionCount) actions")
        }
        if machine.streams.all.count > 2 * world.sessions.count {
            blame("there are \(machine.streams.all.count) streams")
        }
        for link in machine.links.values {
            let unconfirmed = link.overlay.requests.reduce(0) { $0 + $1.entries.count }
            if unconfirmed > sends.count { blame("\(link.name) has \(unconfirmed) in its overlay") }
            let change = link.change
            let changed = change.joined.count + change.left.count + change.rolledBack.count
            if changed > 2 * sends.count { blame("\(link.name) keeps \(change)") }
        }
    }

    /// Why the client is not at rest, for the story.
    var restlessness: String {
        var parts = views.map { "\($0) \($1.status.map { "\($0)" } ?? "-")" }.sorted()
        for (session, lane) in machine.outbox.lanes {
            parts.append("\(session) has \(lane.entries.count)")
        }
        for link in machine.links.values where !link.overlay.requests.isEmpty {
            parts.append("\(link.name) overlays \(link.overlay.requests)")
        }
        if !isAtRest { parts.append("not at rest, \(writing.count) \(questions.count)") }
        return parts.joined(separator: "; ")
    }

    /// Whether nothing is on its way.
    var isAtRest: Bool {
        writing.isEmpty && questions.isEmpty && machine.outbox.lanes.isEmpty
            && machine.links.values.allSatisfy { link in
                link.following == nil || link.end != nil
                    || (!(link.demand.states
                        && (link.reader.confirmed == nil || link.reader.isStale))
                        && !link.overlay.isHeld && !link.overlay.awaitsConfirmation)
            }
    }
}

extension Outbox {
    /// Whether the send is or was in it.
    func isKnown(_ ticket: Ticket) -> Bool { ticket < nextTicket }
}
