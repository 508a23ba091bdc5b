internal import JSONCoding
internal import Reactors
internal import Sessions
internal import Sockets
internal import Wire

// What only an administrator may ask for (`--admin on`): topics and stubs.
extension Shard {
    private func requireAdministration() throws(Problem) {
        guard service.configuration.administration == .on else { throw .administrationOff }
    }

    // MARK: Topics

    /// Publishes a value; the answer comes when every session that listens has committed it.
    func publish(_ segment: Range<Int>, _ connection: ConnectionID) throws(Problem) {
        try requireAdministration()
        try requireJSON()
        let topic: String
        do {
            topic = try PercentEncoding.decoded(head.bytes, segment)
        } catch {
            throw Problem(error)
        }
        guard let delivery = try published(to: topic) else { throw .unknownTopic(topic) }
        let (home, peers) = (index, peers)
        // The value is on its way already, in its order; only the answer waits here.
        Task {
            let count = await delivery.applied()
            let isKnown = count > 0 || delivery.isRemembered
            peers.enqueue(on: home) {
                $0.answerPublished(isKnown ? count : nil, to: topic, connection)
            }
        }
    }

    private func published(to topic: String) throws(Problem) -> TopicDelivery? {
        do {
            return try service.topics.publish(
                toTopicNamed: topic, decodedBy: PostedValue(bytes: body))
        } catch let refusal as JSONRefusal {
            throw Problem(topic: refusal)
        } catch {
            throw Problem(422, "not_a_value", "the body is no value of the topic: \(error)")
        }
    }

    private func answerPublished(
        _ count: Int?, to topic: String, _ connection: ConnectionID
    ) {
        guard isCurrent(connection) else { return }
        answerDue(connection) {
            // Whoever listened had ended by then: the same as if nobody had.
            guard let count else { return self.answer(connection, Problem.unknownTopic(topic)) }
            self.answerJSON(connection, 200, "{\"sessions\":\(count)}\n")
        }
    }

    // MARK: Stubs

    func stub(
        _ operation: Operation, _ session: Session, _ connection: ConnectionID
    ) throws(Problem) {
        try requireAdministration()
        guard operation == .putStub else { return session.readStub(for: connection.token) }
        try requireJSON()
        do throws(StubRefusal) {
            try session.putStub(body, for: connection.token)
        } catch {
            throw Problem(error)
        }
    }
}

/// The body of a request, read as whatever type listens.
private struct PostedValue: TopicDecoder {
    let bytes: [UInt8]

    func decode<Element: Decodable>(_ type: Element.Type) throws -> Element {
        try JSON.decode(type, from: bytes)
    }
}
