internal import Cluster
internal import Cyclers
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// Sends actions of parts to the nodes that decide on their parents, as ``RequestForwarder`` does with requests.
///
/// Design: an action is sent at most once: it is tried again only if no node has begun it. Nobody repeats it for the
/// part, so it is tried for longer than a request: the parent may be between two nodes, or at one that this node's last
/// beat has not shown.
///
/// Bounds: ``limit`` actions and ``limitBytes`` of their bodies that wait for links or answers, beside those of links.
final class PartForwarder: PartLinks {
    static let limit = OutgoingLink.streamLimit
    static let limitBytes = 64 << 20
    /// Further looks at the owner of a parent wait for the next tick of the links.
    private static let lookLimit = 2

    private let way: ClusterWay
    private let outgoing: OutgoingLinks
    private let table: ConnectionTable
    /// The actions with a message, and the bytes of their bodies.
    private(set) var count = 0
    private(set) var bytes = 0

    init(_ way: ClusterWay, _ outgoing: OutgoingLinks, _ table: ConnectionTable) {
        self.way = way
        self.outgoing = outgoing
        self.table = table
    }

    private var now: Int64 { table.now.nanoseconds }

    // MARK: Tries

    func send(_ part: PartAction) {
        let forward = ForwardedPart(part, at: now, self)
        if !part.isHere, let member = way.destination(of: part.parent) {
            send(forward, to: member.node)
        } else {
            lookUp(forward)
        }
    }

    private func send(_ forward: ForwardedPart, to node: Node) {
        guard forward.message != nil || encode(forward) else { return }
        forward.asked = node
        forward.forwarding.beginTry()
        guard let member = way.members[node], outgoing.send(forward, to: member) else {
            return tryEnded(forward, .notSent)
        }
    }

    /// - Returns: False if the action has ended, because it cannot be sent.
    private func encode(_ forward: ForwardedPart) -> Bool {
        let part = forward.part
        let body: [UInt8]
        do {
            body = try part.encode()
        } catch {
            end(forward, .unavailable("the action has no JSON: \(error)"))
            return false
        }
        guard body.count <= LinkPartAction.bodyLimitBytes else {
            let limit = LinkPartAction.bodyLimitBytes
            end(forward, .unavailable("the action has more than \(limit) bytes"))
            return false
        }
        guard count < Self.limit, count == 0 || bytes + body.count <= Self.limitBytes else {
            end(forward, .unavailable("too many actions of parts are under way"))
            return false
        }
        count += 1
        bytes += body.count
        forward.message = LinkPartAction(
            parent: part.parent.text, reactors: part.reactors, subject: part.subject, body: body)
        return true
    }

    /// Continues an action whose try has ended without an answer.
    func tryEnded(_ forward: ForwardedPart, _ ending: Forwarding.Ending) {
        if ending == .notSent, let asked = forward.asked, !mayAccept(forward, asked) {
            return end(
                forward, .unavailable("the program of its node does not accept actions of parts"))
        }
        switch forward.forwarding.next(after: ending, at: now, way.members) {
        case .send(let node):
            way.remember(node, of: forward.session)
            send(forward, to: node)
        case .lookUp, .sendLater: lookAgain(forward, after: ending)
        case .fail(.unreachable): end(forward, .unavailable("no node could be reached that has it"))
        case .fail(.outcomeUnknown): end(forward, .unknown)
        }
    }

    /// Whether the node may accept actions of parts; false: it has said that it does not.
    private func mayAccept(_ forward: ForwardedPart, _ node: Node) -> Bool {
        guard let member = way.members[node], member.loops > 0 else { return true }
        let far = OutgoingLinks.FarEnd(node: node, loop: forward.session.owner(of: member.loops))
        return outgoing.links[far]?.machine.features?.contains(.parts) ?? true
    }

    // MARK: The owner

    private func lookAgain(_ forward: ForwardedPart, after ending: Forwarding.Ending) {
        forward.ending = ending
        guard forward.looks >= Self.lookLimit else { return lookUp(forward) }
        guard outgoing.pause(forward) else {
            return end(forward, .unavailable("too many actions of parts are under way"))
        }
    }

    /// Claims the parent, which may have another owner.
    func lookUp(_ forward: ForwardedPart) {
        forward.looks += 1
        way.forget(forward.session)
        let deposed: Node? =
            if case .moved = forward.ending { nil } else {
                way.deposable(forward.asked, of: forward.session)
            }
        forward.part.find(deposing: deposed) { [self] found in
            if case .elsewhere(let member, _) = found {
                // A node that the last beat has not shown is looked for again: the next beat may.
                return tryEnded(forward, .moved(member.node))
            }
            if deposed != nil, case .session = found {
                way.suspicion.took(forward.session.text, at: .now)
            }
            deliver(forward, to: found)
        }
    }

    private func deliver(_ forward: ForwardedPart, to found: SessionLookup) {
        forward.asked = nil
        forward.forwarding.beginTry()
        forward.part.deliver(to: found) { [self] member in
            tryEnded(forward, .moved(member?.node))
        }
        // An action that this node has tried to send, and receives itself after all.
        release(forward)
    }

    // MARK: Ends

    func answered(_ forward: ForwardedPart, _ answer: LinkAnswer) {
        if let asked = forward.asked { way.remember(asked, of: forward.session) }
        end(forward, PartOutcome(answer))
    }

    private func end(_ forward: ForwardedPart, _ outcome: PartOutcome) {
        release(forward)
        way.parts.count(outcome)
        forward.part.end(outcome)
    }

    private func release(_ forward: ForwardedPart) {
        guard let message = forward.message else { return }
        forward.message = nil
        count -= 1
        bytes -= message.body.count
    }
}

extension ServerLoop {
    /// Receives an action of a part at another node, for a session of this loop.
    func partActionArrived(_ action: LinkPartAction, from origin: GuestOrigin) {
        guard let links = resources.links else { return }
        guard let parent = SessionID(action.parent) else {
            return links.incoming.answer(origin, LinkAnswer(PartOutcome.missing))
        }
        guard parent.owner(of: resources.peers.count) == resources.index else {
            return links.incoming.answer(origin, movedTo: nil)
        }
        sessions.receivePart(
            to: parent, by: action.subject, action.reactors, action.body
        ) { [incoming = links.incoming] outcome in
            if case .moved(let member) = outcome {
                incoming.answer(origin, movedTo: member?.node)
            } else {
                incoming.answer(origin, LinkAnswer(outcome))
            }
        }
    }
}

extension LinkAnswer {
    /// Longer texts of errors are cut.
    private static let textLimitBytes = 4_096

    fileprivate init(_ outcome: PartOutcome) {
        switch outcome {
        case .applied: self.init(status: 200)
        case .missing: self.init(status: 409, code: "no_parent")
        case .failed(let error):
            self.init(422, "action_failed", String(describing: error))
        case .unavailable(let reason): self.init(503, "parent_unavailable", reason)
        case .moved: self.init(status: 503, code: Problem.movedCode)
        case .unknown: self.init(status: 504, code: "outcome_unknown")
        }
    }

    private init(_ status: UInt16, _ code: String, _ text: String) {
        self.init(status: status, code: code, body: Array(text.utf8.prefix(Self.textLimitBytes)))
    }
}

extension PartOutcome {
    /// - Parameter answer: Of another node.
    init(_ answer: LinkAnswer) {
        let text = String(decoding: answer.body, as: UTF8.self)
        switch (answer.status, answer.code) {
        case (200, _): self = .applied
        case (409, "no_parent"): self = .missing
        case (422, _): self = .failed(CyclerParentError(text))
        case (503, "parent_unavailable"): self = .unavailable(text)
        case (503, let code): self = .unavailable("its node has answered \(code)")
        // A newer program may have other answers.
        default: self = .unknown
        }
    }
}
