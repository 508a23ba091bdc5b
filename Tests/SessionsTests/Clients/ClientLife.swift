import Feeds
import Reactors
import Sessions
import Storage
import TestRandomness

@testable import ClientMachine

/// A random life of clients and a server, over several processes of each, with a network between
/// them that loses, delays, doubles and cuts.
///
/// Design: nothing happens but one step after the other, and every step is drawn: whose bytes
/// arrive, which commit ends, which process dies, how much time passes. So any two things happen in
/// any order, and a seed repeats a life.
final class ClientLife {
    /// The clocks of a life, apart from time that passes slowly.
    enum Clocks: CaseIterable { case steady, daysPass, dateIsSet }

    let seed: UInt64
    var generator: SeededGenerator
    let sessions: [SessionName]
    private(set) var clients: [SimulatedClient] = []
    private(set) var logs = SessionLogs()
    private(set) var server: ServerProcess
    let registration: Registration
    let serverLimits: SessionLimits
    let clock = WallClock()
    let beginning: Int64
    let clocks: Clocks
    /// Seconds by which the clients' calendars are wrong.
    private(set) var dateOffset: Int64 = 0
    /// Milliseconds since the beginning.
    private(set) var time: Int64 = 0
    let savesAtOnce: Bool
    /// The shown state is held for a second, as for programs; else until it is certain.
    let holdsEnd: Bool
    /// Every event on a connection that was open before its request has its cause.
    var hasAllCauses: Bool
    /// Retention removes nothing.
    let keepsEverything: Bool
    /// Whether other processes write to the journal too.
    let hasOthers: Bool
    let patchForm: PatchForm
    /// Separate from `generator`, so that the draws for patches change no other draw.
    private var patchGenerator: SeededGenerator
    /// The patches that have left the server, and those of them that do not apply.
    private(set) var patchCounts = (all: 0, impossible: 0)
    private let followsPulses: [Bool]
    var flights: [Flight] = []
    private var keyBodies: [String: (client: String, body: [UInt8])] = [:]
    private var laterActs: [() -> Void] = []
    private var lastMark = 0
    private var lastCredential = 0
    /// Inputs and serves so far.
    private(set) var stepCount = 0
    var lastBeat: Int64 = 0
    var isHealed = false
    /// The network has doubled a request.
    var hasDoubled = false
    /// The faults that the oracle has found; empty at the end.
    private(set) var faults: [String] = []
    /// The life as it was; nil if it is not recorded.
    private(set) var story: [String]?

    /// - Parameter patchForm: Nil: a random one.
    init(
        seed: UInt64, hasOthers: Bool = false, patchForm: PatchForm? = nil,
        isRecorded: Bool = false
    ) throws {
        self.seed = seed
        self.hasOthers = hasOthers
        story = isRecorded ? [] : nil
        var generator = SeededGenerator(seed: seed)
        var patchGenerator = SeededGenerator(seed: ~seed)
        let forms = [PatchForm.patches, .faultyPatches, .wholeStates, .unknownParameter]
        self.patchForm = patchForm ?? forms.randomElement(using: &patchGenerator) ?? .patches
        self.patchGenerator = patchGenerator
        func draw<Value>(_ values: Value...) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }
        sessions = ["a", "b", "c", "d"].prefix(draw(1, 1, 2, 4)).compactMap { SessionName($0) }
        clocks = draw(.steady, .steady, .daysPass, .dateIsSet)
        savesAtOnce = draw(true, false)
        followsPulses = (0..<16).map { _ in draw(true, false) }
        registration = try .of("tally", activities: ["said"]) { Tally() }
        keepsEverything = draw(true, true, false)
        var limits = SessionLimits(
            sessions: draw(1_000, 1_000, 2), batch: draw(1_000, 1_000, 3),
            retention: keepsEverything ? Retention() : Retention(records: draw(3, 8), bytes: 400))
        limits.remembered = 2
        limits.snapshotEvery = draw(1_000, 5)
        serverLimits = limits
        // Events that are read from the journal again have none.
        hasAllCauses = keepsEverything && limits.sessions == 1_000 && !hasOthers
        beginning = clock.milliseconds
        var tokens = ServerProcess.Tokens()
        tokens.areNeeded = draw(false, false, false, true)
        let journal = ScriptedJournal(isImmediate: draw(false, false, true), answers: true)
        server = ServerProcess(journal, registration, clock, limits, tokens)
        var clientLimits = ClientLimits()
        clientLimits.actionsInRequest = draw(100, 100, 2)
        clientLimits.actionsInOutbox = draw(10_000, 8)
        clientLimits.sessionsOnStream = draw(100, 2, 1)
        // Long enough for the exactness of the shown state; the hold that ends is a test of its
        // own. A day ends every hold.
        holdsEnd = draw(false, false, true) || clocks != .steady
        if !holdsEnd { clientLimits.hold = .seconds(1_000_000_000) }
        let count = draw(1, 2, 3)
        self.generator = generator
        clients = (0..<count).map { SimulatedClient("c\($0)", self, clientLimits) }
        record(
            "clocks \(clocks), \(self.patchForm), \(sessions.count) sessions, \(tokens.areNeeded ? "tokens, " : "")"
                + "\(limits.sessions) in memory, \(limits.retention)")
    }

    // MARK: Randomness, faults and the story

    func random(_ limit: UInt64) -> UInt64 { UInt64.random(in: 0..<limit, using: &generator) }

    func chance(_ one: Int, in all: Int) -> Bool {
        Int.random(in: 0..<all, using: &generator) < one
    }

    func any<Element>(_ elements: [Element]) -> Element? {
        elements.randomElement(using: &generator)
    }

    func blame(_ fault: String) {
        record("FAULT \(fault)")
        guard faults.isEmpty else { return }
        faults.append("seed \(seed): \(fault)")
    }

    func record(_ line: @autoclosure () -> String) {
        stepCount += 1
        if story != nil { story?.append("\(time) \(line())") }
    }

    func choosePatch() -> PatchedStream.Choice {
        let draw = Int.random(in: 0..<40, using: &patchGenerator)
        guard draw > 7 else { return .state }
        patchCounts.all += 1
        guard draw < 10, patchForm == .faultyPatches, !isHealed else { return .patch }
        patchCounts.impossible += 1
        return .impossiblePatch
    }

    /// Below a limit.
    func pick(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

    func nextMark() -> Int {
        lastMark += 1
        return lastMark
    }

    func read() { logs.read(server.journal) }

    /// Another server process continues with a journal.
    func begin(_ journal: ScriptedJournal) {
        record("a server begins")
        if journal !== server.journal { logs.beginJournal() }
        server = ServerProcess(journal, registration, clock, serverLimits, server.tokens)
    }

    /// The same key never stands for two requests.
    func check(_ key: String, _ body: [UInt8], of client: SimulatedClient) {
        if let known = keyBodies[key], known.client != client.name || known.body != body {
            blame("\(client.name) uses the key \(key) for another request")
        }
        keyBodies[key] = (client.name, body)
    }

    // MARK: Life

    func live(steps: Int) {
        for client in clients { for session in sessions { follow(session, client) } }
        for _ in 0..<steps where faults.isEmpty {
            step()
            afterStep()
        }
        if faults.isEmpty { finish() }
    }

    func afterStep() {
        logs.read(server.journal)
        while !laterActs.isEmpty { laterActs.removeFirst()() }
    }

    /// To be done when the present input has been dealt with.
    func later(_ act: @escaping () -> Void) { laterActs.append(act) }

    private func step() {
        guard let client = any(clients) else { return }
        if hasOthers, chance(1, in: 25) { return writeAsOther() }
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<12: act(client)
        case 12..<46: network()
        case 46..<66: serve()
        case 66..<74: client.finishWriting(Int.random(in: 1...2, using: &generator))
        case 74..<84: pass(Int64(random(chance(1, in: 4) ? 3_000 : 200)))
        case 84..<88: giveCredential(client)
        case 88..<92: passUntilDue(client)
        case 92..<94: client.receive(.wake)
        case 94: restart(client)
        case 95: if chance(1, in: 2) { restartServer() }
        case 96: disturb(client)
        case 97: postAsStranger()
        case 98: server.pass(beats: true)
        default: jump()
        }
    }

    // MARK: Time

    func pass(_ milliseconds: Int64) {
        time += milliseconds
        clock.milliseconds = beginning + time
        server.pass(beats: time - lastBeat > 15_000)
        if time - lastBeat > 15_000 { lastBeat = time }
        for client in clients { client.timePassed() }
    }

    private func passUntilDue(_ client: SimulatedClient) {
        guard let due = client.wakeAt else { return }
        let wait = (due - client.now.uptime) / .milliseconds(1)
        pass(Int64(max(0, wait).rounded(.up)))
    }

    private func jump() {
        switch clocks {
        case .steady: break
        case .daysPass:
            guard chance(1, in: 2) else { return }
            // No byte is a day under way, and no read of the journal.
            dropFlights()
            server.settleAll()
            pass(Int64(random(2)) * 60_000 + 90_000_000)
            server.journal.edit { batch in
                batch.answers.removeAll { clock.milliseconds - $0.time > 86_400_000 }
            }
            restartServer()
        case .dateIsSet: dateOffset = any([0, 86_400, -86_400]) ?? 0
        }
    }

    // MARK: Programs

    func follow(_ session: SessionName, _ client: SimulatedClient) {
        let number = clients.firstIndex { $0 === client } ?? 0
        let index = (sessions.firstIndex(of: session) ?? 0) * 4 + number
        let following = client.views[session]?.following
        let demand = Demand(
            states: following?.demand.states ?? chance(4, in: 5),
            pulses: followsPulses[index] ? .all : .none, activities: chance(1, in: 4))
        guard !demand.isEmpty else { return }
        var new = Following(
            demand: demand, makes: chance(9, in: 10) ? "tally" : nil,
            predicts: following?.predicts ?? chance(4, in: 5),
            start: following?.start ?? any([.present, .present, .now, .start]) ?? .present)
        // A history that is read from its beginning shows states without the newest actions.
        if new.start == .start { new.predicts = false }
        if following == nil, chance(1, in: 2) { new.after = client.savedPosition(session) }
        if let following { new.makes = following.makes }
        client.follow(session, new)
    }

    private func act(_ client: SimulatedClient) {
        guard let session = any(sessions) else { return }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<12: send(client, session)
        case 12:
            let waiting = client.orderedSends.filter { $0.1.end == nil }
            if let (ticket, _) = any(waiting) { client.discard(ticket) }
        case 13: follow(session, client)
        case 14: if chance(1, in: 3) { client.leave(session) }
        case 15, 16: client.savePosition(session)
        case 17:
            let ended = client.machine.outbox.settlements.keys.sorted()
            if let ticket = any(ended) { client.receive(.seen(ticket)) }
        default: if client.views[session] == nil { follow(session, client) }
        }
    }

    private func send(_ client: SimulatedClient, _ session: SessionName) {
        let count = chance(1, in: 5) ? Int.random(in: 2...4, using: &generator) : 1
        var options = SendOptions()
        if chance(1, in: 12) {
            options = SendOptions(expects: client.machine.position(session))
        } else if chance(1, in: 12) {
            options = SendOptions(settledMilliseconds: 500)
        }
        client.send((0..<count).map { _ in anyAction() }, to: session, options: options)
    }

    private func anyAction() -> Tally.Action? {
        let mark = nextMark()
        switch Int.random(in: 0..<16, using: &generator) {
        case 0..<7: return .add(mark: mark)
        case 7..<10: return .pair(mark: mark)
        case 10, 11:
            return .limited(mark: mark, limit: Int.random(in: 0..<12, using: &generator))
        case 12: return .say(mark: mark)
        case 13: return .nothing(mark: mark)
        case 14: return mark.isMultiple(of: 2) ? .refuse(mark: mark) : .decline(mark: mark)
        default: return nil
        }
    }

    func giveCredential(_ client: SimulatedClient) {
        guard !client.questions.isEmpty else { return }
        let index = Int.random(in: 0..<client.questions.count, using: &generator)
        if !isHealed, chance(1, in: 8) { return client.answer(nil, at: index) }
        lastCredential += 1
        let text = "Bearer t\(lastCredential)"
        let life = isHealed ? 3_600_000 : Int64(random(60_000))
        server.tokens.ends[text] = clock.milliseconds + life
        let expires = chance(1, in: 4) ? nil : client.now.uptime + .milliseconds(life)
        client.answer(Credential(authorization: text, expires: expires), at: index)
    }

    private func restart(_ client: SimulatedClient) {
        guard chance(1, in: 2) else { return }
        client.restart(writing: Int.random(in: 0...3, using: &generator))
        if chance(1, in: 3) { client.compact() }
        if chance(1, in: 2) { for session in sessions { follow(session, client) } }
    }

    private func disturb(_ client: SimulatedClient) {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: if chance(1, in: 8) { client.failWriting() }
        case 1: server.tokens.ends = [:]
        case 2: server.table.tick()
        case 3: trim()
        case 4: delete()
        default: if chance(1, in: 6) { loseJournal() }
        }
    }
}
