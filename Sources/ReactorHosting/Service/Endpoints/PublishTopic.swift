internal import Cluster
internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

/// `POST /v1/topics/{topic}` (`--admin on`): publishes a value. A publication is an action of the
/// topic's session (ADR-0078).
///
/// The response is sent once the action is committed, and the listening sessions of this process
/// have committed their changes for the value, or ``limit`` has passed since the request arrived.
enum PublishTopic: SessionEndpoint {
    static let isForwarded = true

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let (id, loop) = (target.id, connection.loop)
        try request.requireJSON()
        let name = id.topic ?? ""
        try checkHosted(name, target.found, in: loop)
        // Access is not checked here: grants of sessions and reactors do not concern topics.
        let session = try SessionTarget(id: id, found: target.found, access: nil).session()
        try check(request.body, of: name, in: loop.service)
        var post = ActionPost(
            body: ActionBody(publishing: request.body), token: connection.id.token)
        post.subject = request.access?.subject?.text
        post.trace = connection.span.map(RequestTrail.init)
        post.key = try PostActions.idempotencyKey(request)
        connection.setOptions { options in
            options.isPublication = true
            options.waitDeadline = loop.now + limit
        }
        do {
            try session.post(post)
        } catch {
            throw Problem(error, by: session.registration)
        }
        connection.rearm()
        return nil
    }

    /// An earlier program may have created the topic's session, so its existence is not enough.
    ///
    /// - Throws: ``Problem/unknownTopic(_:)`` if this process hosts no reactor with the topic, and
    ///   either knows of no other process that may host one, or the topic has no session.
    private static func checkHosted(
        _ name: String, _ found: SessionLookup, in loop: LoopResources
    ) throws(Problem) {
        if loop.service.topics.isDecodable(name) {
            guard case .nothing = found else { return }
            // The process creates the session when it starts, and tries again until it is
            // committed.
            throw Problem(
                loop.sessions.journal.failure
                    ?? JournalFailure(reason: .unavailable, detail: "the topic is being created"))
        }
        if case .nothing = found { throw .unknownTopic(name) }
        guard loop.service.journal.ownership?.members.haveOtherReactors ?? false
        else { throw .unknownTopic(name) }
    }

    private static func check(
        _ body: [UInt8], of topic: String, in service: Service
    ) throws(Problem) {
        let value = TopicValue(body)
        do {
            _ = try value.decode(JSONValue.self)
            try service.topics.check(value, of: topic)
        } catch let refusal as JSONRefusal {
            throw Problem(refusal, mismatch: "not_a_value")
        } catch {
            throw Problem(422, "not_a_value", "the body is not a value of the topic: \(error)")
        }
    }

    /// How long a response waits for the sessions, from the arrival of its request. Precedent:
    /// earlier, a publication waited as long for other nodes (ADR-0057).
    private static let limit = Duration.seconds(5)

    /// Responds after the commit of the value.
    static func respond(_ content: Reply.Content, on connection: HTTPConnection) {
        guard case .waiting(_, let options?) = connection.state else { return }
        let (id, loop) = (connection.id, connection.loop)
        let (index, peers) = (loop.index, loop.peers)
        var fields = [loop.heads.durability]
        if case .replayed = content.kind { fields.append(("Idempotency-Replayed", "true")) }
        let (read, feed) = AsyncStream<TopicDelivery?>.makeStream()
        loop.sessions.topics.whenRead(content.feed.id, through: content.position.number) {
            feed.yield($0)
            feed.finish()
        }
        let wait = Task { [fields] in
            var sessions = 0
            for await delivery in read { sessions = await delivery?.applied() ?? 0 }
            let receipt = Receipt(sessions: sessions)
            peers.enqueue(on: index) { loop in
                loop.connection(id)?.respond(.json(200, receipt, fields: fields))
            }
        }
        options.endWait = { _ in wait.cancel() }
        if options.waitDeadline == nil { wait.cancel() }
    }

    private struct Receipt: Encodable {
        let sessions: Int
    }
}
