internal import JSONCoding
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

/// A question to all loops: parts come in, the last one completes the answer.
struct Gathering {
    enum Parts {
        case counters(Counters)
        case sessions([SessionLine])
        /// What the journal has, and what is known to be wrong with it.
        case saved([SavedLine], faults: [String: RecoveryFault])
    }

    var connection: ConnectionID
    var missing: Int
    var parts: Parts
    /// `?limit=` of a page of sessions.
    var limit = 0
}

/// One session in a page, as JSON without its id's loop.
struct SessionLine: Sendable {
    var id: String
    var json: [UInt8]
}

extension QueryItems {
    /// `?limit=` of a page, 1 to 1000; default 100.
    func pageLimit() throws(Problem) -> Int {
        let text = first("limit") ?? "100"
        guard let limit = Int(text), (1...1_000).contains(limit) else {
            throw Problem(
                400, "bad_limit", "limit is \(text); send a whole number from 1 to 1000")
        }
        return limit
    }
}

extension Shard {
    func gatherMetrics(_ connection: ConnectionID) {
        ask(Gathering(connection: connection, missing: peers.count, parts: .counters(Counters()))) {
            .counters($0.presentCounters)
        }
    }

    private var presentCounters: Counters {
        var present = counters
        present.sessions = sessions.awakeCount
        present.subscribers = sessions.subscriberCount
        present.connections = connections.count
        return present
    }

    /// `?after=`, `?limit=`, `?reactor=`.
    func listSessions(_ connection: ConnectionID) throws(Problem) {
        let items = try queryItems()
        let limit = try items.pageLimit()
        let after = items.first("after")
        let reactor = items.first("reactor")
        if sessions.page(
            after: after, limit: limit + 1, reactor: reactor,
            then: { [unowned self] in answerPage($0, limit: limit, connection) })
        {
            return
        }
        ask(
            Gathering(
                connection: connection, missing: peers.count, parts: .sessions([]), limit: limit)
        ) { shard in
            .sessions(shard.page(after: after, limit: limit + 1, reactor: reactor))
        }
    }

    /// What the journal has, whichever loop owns it and whether it is in memory or not. Its loop
    /// knows whether it can't be rebuilt.
    private func answerPage(
        _ lines: Result<[SavedLine], JournalFailure>, limit: Int, _ connection: ConnectionID
    ) {
        guard isCurrent(connection) else { return }
        switch lines {
        case .failure(let failure):
            answerDue(connection) { self.answer(connection, .unreadable(failure)) }
        case .success(let lines):
            ask(
                Gathering(
                    connection: connection, missing: peers.count,
                    parts: .saved(lines, faults: [:]), limit: limit)
            ) { shard in
                .saved([], faults: shard.faults(of: lines))
            }
        }
    }

    private func faults(of lines: [SavedLine]) -> [String: RecoveryFault] {
        var faults: [String: RecoveryFault] = [:]
        for line in lines { faults[line.session] = sessions.fault(of: line) }
        return faults
    }

    private static func line(_ saved: SavedLine, _ fault: RecoveryFault?) -> SessionLine {
        var json: [UInt8] = []
        append(saved, to: &json)
        if let fault {
            json.append(contentsOf: ",\"status\":\"quarantined\",\"reason\":".utf8)
            JSON.appendString(Problem.shortened("\(fault.place): \(fault.reason)"), to: &json)
        }
        json.append(UInt8(ascii: "}"))
        return SessionLine(id: saved.session, json: json)
    }

    /// Without its closing brace.
    private static func append(_ line: SavedLine, to out: inout [UInt8]) {
        out.append(contentsOf: "{\"id\":\"\(line.session)\",\"reactor\":".utf8)
        JSON.appendString(line.reactor, to: &out)
        out.append(contentsOf: ",\"version\":\(line.lastVersion),\"position\":\"".utf8)
        out.append(contentsOf: "\(line.generation).\(line.lastNumber)\"".utf8)
    }

    private func page(after id: String?, limit: Int, reactor: String?) -> [SessionLine] {
        sessions.page(after: id, limit: limit, reactor: reactor).map { session in
            var json: [UInt8] = []
            appendDescription(
                session, version: session.version, position: session.position, to: &json)
            json.append(UInt8(ascii: "}"))
            return SessionLine(id: session.id.text, json: json)
        }
    }

    private func ask(
        _ gathering: Gathering, _ part: @escaping @Sendable (Shard) -> Gathering.Parts
    ) {
        lastGathering += 1
        let number = lastGathering
        let home = index
        let peers = peers
        gatherings[number] = gathering
        for loop in 0..<peers.count where loop != home {
            peers.enqueue(on: loop) { shard in
                let answer = part(shard)
                peers.enqueue(on: home) { $0.collect(answer, for: number) }
            }
        }
        collect(part(self), for: number)
    }

    private func collect(_ part: Gathering.Parts, for number: UInt64) {
        guard var gathering = gatherings.removeValue(forKey: number) else { return }
        gathering.missing -= 1
        switch (gathering.parts, part) {
        case (.counters(var sum), .counters(let more)):
            sum.add(more)
            gathering.parts = .counters(sum)
        case (.sessions(let lines), .sessions(let more)):
            gathering.parts = .sessions(lines + more)
        case (.saved(let lines, let faults), .saved(_, let more)):
            gathering.parts = .saved(lines, faults: faults.merging(more) { known, _ in known })
        default: preconditionFailure("an answer to another question")
        }
        guard gathering.missing == 0 else {
            gatherings[number] = gathering
            return
        }
        complete(gathering)
    }

    private func complete(_ gathering: Gathering) {
        answerDue(gathering.connection) {
            switch gathering.parts {
            case .counters(let sum):
                var exposition = Exposition()
                sum.write(to: &exposition)
                self.service.journal.figures?.write(to: &exposition)
                self.answer(
                    gathering.connection, 200,
                    [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                    Array(exposition.text.utf8))
            case .sessions(let lines):
                self.answer(
                    gathering.connection, 200, [("Content-Type", "application/json")],
                    Self.page(of: lines, limit: gathering.limit))
            case .saved(let lines, let faults):
                self.answer(
                    gathering.connection, 200, [("Content-Type", "application/json")],
                    Self.page(
                        of: lines.map { Self.line($0, faults[$0.session]) },
                        limit: gathering.limit))
            }
        }
    }

    private static func page(of lines: [SessionLine], limit: Int) -> [UInt8] {
        let sorted = lines.sorted { $0.id < $1.id }
        var body = Array("{\"sessions\":[".utf8)
        body.append(
            contentsOf: sorted.prefix(limit).map(\.json).joined(separator: [UInt8(ascii: ",")]))
        body.append(UInt8(ascii: "]"))
        if sorted.count > limit {
            body.append(contentsOf: ",\"next\":\"\(sorted[limit - 1].id)\"".utf8)
        }
        body.append(contentsOf: "}\n".utf8)
        return body
    }
}
