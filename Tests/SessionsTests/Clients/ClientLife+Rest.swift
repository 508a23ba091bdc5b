import ClientMachine
import Sessions
import Storage

// The bookkeeping of a life's network, and its end.
extension ClientLife {
    func launch(
        _ request: ClientRequest, _ id: AttemptID, of client: SimulatedClient, isStream: Bool
    ) {
        flights.append(Flight(request, id, of: client, isStream: isStream))
    }

    /// The client has closed the connection of an attempt. Its request may arrive nevertheless.
    func abandon(_ id: AttemptID, of client: SimulatedClient) {
        for flight in flights where flight.client === client && flight.id == id { abandon(flight) }
    }

    /// The process of a client has ended, and with it its connections.
    func forget(_ client: SimulatedClient) {
        for flight in flights where flight.client === client { abandon(flight) }
    }

    private func abandon(_ flight: Flight) {
        if let call = flight.call { server.forget(call) }
        let mayArrive = flight.call == nil && !flight.isStream && !flight.isSilent
        if mayArrive, !isHealed, chance(1, in: 2) { flight.client = nil } else { remove(flight) }
    }

    func remove(_ flight: Flight) { flights.removeAll { $0 === flight } }

    /// All messages are lost, and the clients notice it.
    func dropFlights() {
        for flight in flights {
            if let call = flight.call { server.forget(call) }
            remove(flight)
            if flight.isStream {
                flight.client?.receive(.streamEnded(flight.id, failure: "reset"))
            } else {
                flight.client?.receive(.requestFailed(flight.id, "reset"))
            }
        }
    }

    // MARK: Rest

    /// The network is healed, and everybody stays alive: all comes to rest.
    func finish() {
        record("the network is healed")
        isHealed = true
        server.table.limits.sessions = 1_000
        findOutAboutOthers()
        readSessions()
        for client in clients {
            if client.isBroken { client.restart(writing: 0) }
            client.receive(.wake)
            for session in sessions where chance(1, in: 2) && client.views[session] == nil {
                follow(session, client)
            }
        }
        for round in 1...600 where faults.isEmpty {
            settle()
            if isAtRest { return checkRest() }
            let due = clients.compactMap { client in
                client.wakeAt.map { ($0 - client.now.uptime) / .milliseconds(1) }
            }.min()
            pass(Int64(min(max(due ?? 1, 1), 10_000).rounded(.up)))
            if round.isMultiple(of: 20) { for client in clients { client.receive(.wake) } }
        }
        guard faults.isEmpty else { return }
        for client in clients {
            record("\(client.name): \(client.restlessness)")
        }
        for flight in flights where !flight.isOpen || !flight.isDrained {
            record("\(flight.client?.name ?? "-") \(flight.id.number) \(flight.request.target)")
        }
        blame("it never comes to rest")
    }

    private func settle() {
        for _ in 0..<200 {
            // Sessions of a shared stream that could not be read are tried again now and then.
            server.pass(beats: false)
            server.settleAll()
            afterStep()
            let count = stepCount
            // Some are gone before their turn: a client gives up an attempt if another one has
            // brought the result.
            for flight in flights where flights.contains(where: { $0 === flight }) {
                network(flight)
            }
            for client in clients {
                client.finishWriting(client.writing.count)
                while !client.questions.isEmpty { giveCredential(client) }
            }
            afterStep()
            server.settleAll()
            let isQuiet = flights.allSatisfy { $0.isSilent || ($0.isOpen && $0.isDrained) }
            if isQuiet, count == stepCount { return }
        }
    }

    private var isAtRest: Bool {
        flights.allSatisfy { $0.isOpen && $0.isDrained }
            && clients.allSatisfy { client in
                client.isAtRest
                    && client.views.values.allSatisfy { view in
                        switch view.status {
                        case .live?, .ended?: true
                        case nil, .idle?, .connecting?, .waiting?, .failed?, .stopped?: false
                        }
                    }
            }
    }

    private func checkRest() {
        for client in clients {
            client.checkRest()
            client.checkEnds()
        }
        for (generation, log) in logs.all {
            if Set(log.entries).count != log.entries.count {
                blame("\(log.session) has \(log.entries) in \(generation)")
            }
            for client in clients { client.checkOrder(generation, log) }
        }
        for call in server.openCalls {
            if case .sessions(let joint) = call.source, joint.stream.heldBytes > 0 {
                blame("a stream holds \(joint.stream.heldBytes) bytes at rest")
            }
        }
    }
}

extension ClientLife.Flight {
    /// Whether everything that the server has written has arrived.
    fileprivate var isDrained: Bool {
        guard let call, !isSilent else { return false }
        return call.unread.isEmpty && call.end == nil
    }
}
