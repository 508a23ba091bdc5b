internal import JSONCoding
internal import Reactors
internal import Sockets
internal import Wire

/// `POST /v1/topics/{topic}` (`--admin on`): publishes a value; the response follows when every
/// listening session has committed it, at all nodes of a cluster.
enum PublishTopic: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let service = connection.loop.service
        try service.requireAdministration()
        try request.requireJSON()
        let topic = request.head.text(request.segment ?? 0..<0)
        guard !topic.utf8.contains(UInt8(ascii: "%")) else {
            throw Problem(
                400, "bad_topic", "the topic is \(topic): write its name without percent-encoding")
        }
        let (id, home, peers) = (connection.id, connection.loop.index, connection.loop.peers)
        guard connection.loop.role == .operations || service.node != nil else {
            let delivery = try known(request.body, topic, in: service)
            respond(to: id, on: home, of: peers, when: delivery, isAppliedTo: topic)
            return nil
        }
        // The listener's type decodes the value. Its code is the author's and may block, so it does
        // not run on the loop of the operations address. The first loop has the links for topics.
        let body = request.body
        let isPosted = peers.enqueue(on: 0) { loop in
            if let topics = loop.resources.links?.topics {
                return topics.publish(body, to: topic, isFromNode: false) {
                    respond(to: id, on: home, of: peers, with: $0)
                }
            }
            do throws(Problem) {
                let delivery = try known(body, topic, in: service)
                respond(to: id, on: home, of: peers, when: delivery, isAppliedTo: topic)
            } catch {
                let problem = error
                peers.enqueue(on: home) { $0.connection(id)?.respond(.problem(problem)) }
            }
        }
        guard isPosted else { throw .draining }
        return nil
    }

    private static func respond(
        to id: ConnectionID, on home: Int, of peers: Peers, with answer: LinkAnswer
    ) {
        peers.enqueue(on: home) { loop in
            var response = Response(answer)
            if response.status == 200 { response.fields.append(loop.resources.heads.durability) }
            loop.connection(id)?.respond(response)
        }
    }

    private static func respond(
        to id: ConnectionID, on home: Int, of peers: Peers, when delivery: TopicDelivery,
        isAppliedTo topic: String
    ) {
        // The value is already queued, in its order; only the response waits here.
        Task {
            let count = await delivery.applied()
            // If all of them have ended, the topic counts as unknown.
            let isKnown = count > 0 || delivery.isRemembered
            peers.enqueue(on: home) { loop in
                loop.connection(id)?.respond(
                    isKnown
                        ? .json(
                            200, Receipt(sessions: count),
                            fields: [loop.resources.heads.durability])
                        : .problem(.unknownTopic(topic)))
            }
        }
    }

    private static func known(
        _ body: [UInt8], _ topic: String, in service: Service
    ) throws(Problem) -> TopicDelivery {
        guard let delivery = try deliver(body, to: topic, in: service) else {
            throw .unknownTopic(topic)
        }
        return delivery
    }

    /// Hands a value to the sessions of this server that listen. Returns nil if there are none.
    static func deliver(
        _ body: [UInt8], to topic: String, in service: Service
    ) throws(Problem) -> TopicDelivery? {
        do {
            return try service.topics.publish(
                toTopicNamed: topic, decodedBy: PostedValue(bytes: body))
        } catch let refusal as JSONRefusal {
            throw Problem(refusal, mismatch: "not_a_value")
        } catch {
            throw Problem(422, "not_a_value", "the body is not a value of the topic: \(error)")
        }
    }

    private struct Receipt: Encodable {
        let sessions: Int
    }
}

/// The body of a request, decoded as the type of each listener.
private struct PostedValue: TopicDecoder {
    let bytes: [UInt8]

    func decode<Element: Decodable>(_ type: Element.Type) throws -> Element {
        try JSON.decode(type, from: bytes)
    }
}
