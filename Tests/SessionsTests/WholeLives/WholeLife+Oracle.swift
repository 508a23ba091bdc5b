import Feeds
import JSONCoding
import Reactors
import ReactorHosting
import Sessions
import Storage
import Testing

// Checks that must hold after any sequence of events.
extension WholeLife {
    // MARK: While it lives

    /// Checks the replies that have arrived since.
    func lookAtAnswers() {
        for answer in rig.output.answers[answersSeen...] {
            guard let request = requests[answer.token] else {
                blame("nobody asked for \(answer.content.line)")
                continue
            }
            positions[request.id, default: []].append(answer.content.position.text)
            checkEra(answer.content)
            switch answer.content.kind {
            case .gone: checkEnded(answer.token)
            case .refused(let refusal, _): record(refusal, answer.token)
            default: break
            }
        }
        answersSeen = rig.output.answers.count
    }

    /// A session is gone only if its end was committed.
    func checkEnded(_ token: UInt64) {
        guard let request = requests[token] else { return }
        guard !everything.contains(where: { $0.kind == .deleted && $0.session == request.id })
        else { return }
        blame("\(request) gets the end of a session that lives")
    }

    func checkList(_ ids: [String], _ range: SessionRange) {
        if ids != ids.sorted() || ids.count > range.limit { blame("the list \(ids)") }
        if let first = ids.first, let after = range.after, first <= after {
            blame("\(first) after \(after)")
        }
        for id in ids where !id.hasPrefix(range.prefix) {
            blame("\(id) without the prefix \(range.prefix)")
        }
        for id in ids where !self.ids.contains(id) { blame("\(id) was never created") }
    }

    func checkAsleep(_ id: SessionID, _ head: SavedHead, _ runtime: SessionRuntime) {
        if case .session = rig.table.find(id) { blame("\(id.text) is awake") }
        let line = String(decoding: runtime.line(hasActions: true), as: UTF8.self)
        if !line.hasPrefix(#"{"awake":false,"#) || !line.contains(#""effects":[],"sources":[]"#) {
            blame("asleep: \(line)")
        }
        let last = rig.journal.all.last { $0.key == head.key && $0.part == 0 }
        if let last, head.end.number > last.number { blame("\(head) after \(last.number)") }
    }

    /// A fork begins with the state that its origin had.
    func checkExport(_ snapshot: Snapshot, of session: Session) {
        guard session.registration.name == "ledger" else { return }
        let key = SessionKey(session: snapshot.session, generation: snapshot.generation)
        guard let truth = truth(of: key), Int(snapshot.version) < truth.states.count else {
            // History was lost, and the message is on its way.
            if rig.journal.losses.void.contains(key), !void.contains(key) { return }
            return blame("an export of a version that is not committed")
        }
        let state = String(decoding: snapshot.state, as: UTF8.self)
        if state != truth.states[Int(snapshot.version)] { blame("exported \(state)") }
    }

    func truth(of life: SessionKey) -> Truth? {
        try? Truth(everything, of: life, from: origins[life])
    }

    // MARK: In the end

    /// Everything pending ends with success; then every request has a reply.
    func finish() async throws {
        rig.journal.setLate(false)
        heldEffects.open()
        if scope.losesHistory {
            await settle()
            checkNobodyIsStranded()
        }
        while recounts > 0 {
            countOwnersAgain()
            rig.settleAll()
        }
        for index in readers.indices { reconnect(index) }
        for joint in joints { connect(joint) }
        await settle()
        findOutAboutOthers()
        await settle()
        if !spoiled.isEmpty || bounds.areFewSessions { try await beHealed() }
        // A reader without a connection reconnects once more: the archive failed while it caught
        // up, or when its session was to be read.
        for index in readers.indices {
            let last = readers[index].reader.connections.last?.token
            if !(last.map(rig.output.isStreaming) ?? false) { reconnect(index) }
        }
        // Every session is read once more, to find out whether it has ended.
        for id in ids { request(.readSession, id) }
        await settle()
        // A session may wait for a topic that could not be read.
        rig.table.tick()
        await settle()
        // A timer may set another one.
        for _ in 0..<12 where scope.hasTimers {
            passAllTime()
            await settle()
        }
        checkPresence()
        checkTags()
        lookAtAnswers()
        for token in unanswered() {
            blame("no answer to \(String(describing: requests[token]))")
        }
        let tokens = rig.output.answers.map(\.token) + said.keys
        if tokens.count != Set(tokens).count { blame("somebody is answered twice") }
        checkRefusals()
        checkMarks()
        checkTraces()
        checkPages()
        checkSubjects()
        checkDeclined()
        checkInputs()
        checkClosed()
        checkExpired()
        checkAttempts()
        checkLives()
        checkJoints()
        checkPrograms()
        checkStates()
        checkTopics()
        checkTimers()
        checkAllGenerations()
    }

    /// Each session has the values of its topic in order, each once, and misses none after its
    /// first one. This also holds after a database has lost the end of its history: if it loses a
    /// value, it also loses what sessions have made of the value.
    private func checkTopics() {
        guard scope.hasTasks, scope.hasArchive else { return }
        let present = rig.journal.all
        let news = present.filter { $0.session == "$news" && $0.kind == .mutation }
            .map { String(decoding: $0.content, as: UTF8.self) }
        if Set(news).count != news.count { blame("a value was published twice: \(news)") }
        let lives = Dictionary(grouping: present.filter { reactors[$0.session] == "player" }) {
            $0.key
        }
        for (life, records) in lives {
            let read = records.filter { $0.kind == .mutation }.compactMap(Self.announced)
            guard let first = read.first.flatMap(news.firstIndex(of:)) else { continue }
            // The reactor may have refused some of them.
            if records.contains(where: Self.refusesSource) || stubbed.contains(life.session) {
                let places = read.compactMap(news.firstIndex(of:))
                if places != places.sorted() || Set(places).count != read.count {
                    blame("\(life) has read \(read) of \(news)")
                }
                continue
            }
            if !news[first...].starts(with: read) { blame("\(life) has read \(read) of \(news)") }
            guard let name = SessionID(life.session),
                case .session(let session) = rig.table.find(name), session.feed.key == life,
                read.last != news.last
            else { continue }
            blame("\(life) lacks the newest of \(news): \(read)")
        }
    }

    private static func refusesSource(_ record: HistoryEntry) -> Bool {
        record.kind == .failure
            && String(decoding: record.content, as: UTF8.self).contains("source")
    }

    /// The value of the topic that the mutation of a player has, as JSON.
    private static func announced(_ record: HistoryEntry) -> String? {
        let mutation = try? JSON.decode(Player.Mutation.self, stored: record.content)
        guard case .announced(let text)? = mutation else { return nil }
        return "\"\(text)\""
    }

    /// Continues with a deployment that can rebuild everything, and has room for it.
    private func beHealed() async throws {
        lookAtAnswers()
        bounds.sessions = 1_000
        for token in unanswered() {
            blame("no answer to \(String(describing: requests[token]))")
        }
        try crash(isHealing: true)
        await settle()
    }

    private func reconnect(_ index: Int) {
        if let token = readers[index].reader.connections.last?.token {
            gone.insert(token)
            rig.output.lose(token)
            rig.output.disconnect(token)
        }
        connect(index)
        // It accepts every byte.
        if let token = requests.keys.max() { rig.output.setCapacity(nil, of: token) }
    }

    /// Runs until no job arrives and nothing is pending.
    private func settle() async {
        for _ in 0..<2_000 {
            while rig.journal.askedCount > 0 { rig.journal.answer(at: 0) }
            settleJoints()
            settlePrograms(retries: true)
            rig.drainInbox()
            rig.settleAll()
            if scope.hasTasks { await rest() }
            for (_, reader) in readers {
                guard let token = reader.connections.last?.token else { continue }
                rig.output.setCapacity(nil, of: token)
            }
            settlePrograms(retries: false)
            // A reader whose connection accepts bytes again may ask the loop of its
            // session for some.
            if !rig.hasWork, rig.joints.isEmpty, rig.journal.pendingCount == 0,
                rig.journal.askedCount == 0
            {
                return
            }
        }
        blame("it never comes to rest")
    }

    /// Acknowledged: there exactly once. Refused: not there. Otherwise: once or not at all.
    private func checkMarks() {
        // By generation: a session that was created again has no keys of the previous one.
        var counts: [Int: [SessionKey: Int]] = [:]
        for record in everything where record.kind != .note {
            for event in record.events where event.name == "a" || event.name == "mark" {
                guard let mark = Int(String(decoding: event.data, as: UTF8.self)),
                    mark > 1_000_000
                else { continue }
                counts[mark, default: [:]][record.key, default: 0] += 1
            }
        }
        for (mark, lives) in counts {
            for (life, count) in lives where count > 1 {
                blame("\(mark) is there \(count) times in \(life)")
            }
        }
        var tries: [Int: Int] = [:]
        for case let mark? in requests.values.map(\.mark) { tries[mark, default: 0] += 1 }
        for case (let token, .refused) in said {
            guard let request = requests[token], let mark = request.mark else { continue }
            if tries[mark] == 1, counts[mark] != nil { blame("\(request) left a trace, refused") }
        }
        for answer in rig.output.answers {
            guard let request = requests[answer.token], let mark = request.mark,
                !stubbed.contains(request.id)
            else { continue }
            switch answer.content.kind {
            case .received, .unsettled, .replayed:
                if counts[mark] == nil { blame("\(request) was acknowledged and is not there") }
            // Requests that waited for effects get 410: the session has ended.
            case .gone where request.waits: break
            case .conditionFailed, .refused, .gone:
                if tries[mark] == 1, counts[mark] != nil { blame("\(request) left a trace") }
            case .failed(let failure) where failure.reason != .outcomeUnknown:
                if tries[mark] == 1, counts[mark] != nil {
                    blame("\(request) was applied, and answered as if it were not")
                }
            default: break
            }
        }
    }

    /// A part of a trace ends once, and a commit that has not failed is in the journal.
    private func checkTraces() {
        var marks: Set<Int> = []
        for record in everything where record.kind != .note {
            for event in record.events where event.name == "a" || event.name == "mark" {
                marks.formUnion(Int(String(decoding: event.data, as: UTF8.self)).map { [$0] } ?? [])
            }
        }
        for part in traces.parts {
            if part.ends > 1 { blame("\(part) ended more than once") }
            if part.ends == 0, part.isOfLastProcess { blame("\(part) never ended") }
            guard part.name == "commit", part.ends == 1, !part.hasFailed else { continue }
            if stubbed.isEmpty, !marks.contains(part.mark) { blame("\(part) is in no record") }
        }
    }

    /// Pages are parts of the log without a gap, each from its requested position.
    private func checkPages() {
        for answer in rig.output.answers {
            guard case .logPage(let body) = answer.content.kind else { continue }
            let feed = answer.content.feed
            let after = requests[answer.token]?.after
            guard let page = try? JSON.decode(Page.self, from: body) else {
                blame("no page: \(String(decoding: body, as: UTF8.self))")
                continue
            }
            let all = everything.filter {
                $0.session == feed.id.text && $0.generation == feed.generation.text
                    && $0.kind != .created && $0.kind != .deleted
            }.map { Position(feed.generation, $0.position).text }
            let listed = page.entries.map(\.position)
            if let next = page.next, next != listed.last { blame("next is \(next)") }
            guard let first = listed.first else { continue }
            guard let start = all.firstIndex(of: first), all[start...].starts(with: listed) else {
                blame("\(feed.id.text): the page \(listed) is no piece of \(all)")
                continue
            }
            guard page.reset == nil, let after, let seen = Position(after) else { continue }
            let due = all.firstIndex {
                guard let position = Position($0) else { return false }
                return position.inHistory > seen.inHistory
            }
            if due != start { blame("after \(after) the page begins at \(first)") }
        }
    }

    private struct Page: Decodable {
        struct Entry: Decodable { var position: String }
        struct Reset: Decodable { var reason: String }
        var entries: [Entry]
        var next: String?
        var reset: Reset?
    }

    /// The sessions at the end match the journal, and their readers have received all of it.
    private func checkLives() {
        for id in ids where !stubbed.contains(id) {
            let records = rig.journal.all.filter { $0.session == id }
            guard let key = records.last?.key, reactors[id] == "ledger", let truth = truth(of: key)
            else { continue }
            if !truth.isGapless {
                blame(
                    "\(id) has gaps: \(records.map { "\($0.number).\($0.part) v\($0.version) \($0.kind)" })"
                )
            }
            guard let name = SessionID(id) else { continue }
            if case .session(let session) = rig.table.find(name) {
                let state = rig.state(session)
                if state != truth.states.last { blame("\(id) is \(state)") }
                if session.version != UInt64(truth.states.count - 1) { blame("\(id)'s version") }
                if records.last?.kind == .deleted { blame("\(id) lives, and was deleted") }
            }
            // A reader of several generations got a reset; the model has one generation.
            guard Set(everything.filter { $0.session == id }.map(\.generation)).count == 1 else {
                continue
            }
            let isOver = records.contains { $0.kind == .deleted }
            for (_, reader) in readers.filter({ $0.session == id }) {
                reader.check(rig, against: truth, "seed \(seed), \(id)", isOver: isOver)
                guard isOver, let token = reader.connections.last?.token else { continue }
                if rig.output.isStreaming(token) { blame("\(id)'s reader waits for ever") }
            }
        }
    }

    /// A version has one state, for every reader at any time.
    private func checkStates() {
        var states: [String: String] = [:]
        var truths: [SessionKey: Truth] = [:]
        for answer in rig.output.answers {
            guard case .state(let bytes, let version) = answer.content.kind else { continue }
            let feed = answer.content.feed
            guard !stubbed.contains(feed.id.text) else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.contains("\"isSpoiled\":true") else { continue }
            let key = feed.key
            let before = states.updateValue(text, forKey: "\(key) \(version)")
            if let before, before != text { blame("\(key) \(version): \(before), then \(text)") }
            guard feed.reactor == "ledger" else { continue }
            if truths[key] == nil { truths[key] = truth(of: key) }
            guard let truth = truths[key], Int(version) < truth.states.count else {
                blame("\(key) has no version \(version)")
                continue
            }
            if text != truth.states[Int(version)] { blame("\(key) \(version) is \(text)") }
        }
    }
}
