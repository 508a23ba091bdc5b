internal import Cluster
internal import Feeds
internal import Sessions
internal import Wire

/// An action of a part on its way to the node that decides on its parent.
final class ForwardedPart {
    let part: PartAction
    var forwarding: Forwarding
    var place = ForwardStage.here
    /// The node that was asked last.
    var asked: Node?
    /// Nil before the first try at another node.
    var message: LinkPartAction?
    /// The looks at the owner of the parent.
    var looks = 0
    /// Why this node looks at the owner.
    var ending = Forwarding.Ending.moved(nil)
    private unowned let forwarder: PartForwarder

    init(_ part: PartAction, at now: Int64, _ forwarder: PartForwarder) {
        self.part = part
        self.forwarder = forwarder
        forwarding = Forwarding(at: now, isRepeatable: false, .part)
    }

    var session: SessionID { part.parent }
}

extension ForwardedPart: Forward {
    var onlyReads: Bool { false }

    /// The other node sends what it accepts right after it has proved itself.
    func isReady(for link: OutgoingLink) -> Bool { link.isOpen && link.features != nil }

    func send(on link: OutgoingConnection, _ delegate: (any LinkTableDelegate)?) -> UInt32? {
        guard let stream = message.flatMap({ link.machine.send($0) }) else { return nil }
        part.setSent(true)
        return stream
    }

    func answered(_ answer: LinkAnswer, _ delegate: (any LinkTableDelegate)?) {
        forwarder.answered(self, answer)
    }

    func ended(_ ending: Forwarding.Ending, _ delegate: (any LinkTableDelegate)?) {
        if ending != .lost { part.setSent(false) }
        forwarder.tryEnded(self, ending)
    }

    func pauseEnded(_ delegate: (any LinkTableDelegate)?) { forwarder.lookUp(self) }

    func closed() {
        if case .sent = place {
            part.end(.unknown)
        } else {
            part.end(.unavailable("the server ends"))
        }
    }
}

/// Actions of parts that went to other nodes.
struct PartCounts: Sendable {
    enum Outcome: String, CaseIterable {
        case applied
        /// The parent has refused it, or there is none.
        case refused
        /// Nothing was applied: no node has accepted it.
        case unavailable
        case outcomeUnknown = "outcome_unknown"
    }

    private var outcomes: [Outcome: UInt64] = [:]

    mutating func count(_ outcome: PartOutcome) {
        let outcome: Outcome =
            switch outcome {
            case .applied: .applied
            case .missing, .failed: .refused
            case .unavailable, .moved: .unavailable
            case .unknown: .outcomeUnknown
            }
        outcomes[outcome, default: 0] += 1
    }

    mutating func add(_ other: PartCounts) {
        for (outcome, count) in other.outcomes { outcomes[outcome, default: 0] += count }
    }

    func write(to text: inout PrometheusWriter) {
        text.counters(
            "part_actions", "Actions of parts whose parents other nodes have, by outcome.",
            "outcome",
            Outcome.allCases.map { ($0.rawValue, outcomes[$0, default: 0]) })
    }
}
