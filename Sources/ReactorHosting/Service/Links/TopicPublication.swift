internal import Cluster
internal import JSONCoding
internal import Wire

/// A value of a topic on its way to the sessions of all nodes.
final class TopicPublication {
    let number: UInt64
    let topic: String
    /// Empty once it was sent to the sessions of all nodes, or the home has answered.
    var body: [UInt8]
    let isFromNode: Bool
    /// When it has arrived.
    let since: Int64
    let reply: (LinkAnswer) -> Void
    /// Members whose processes have ended.
    var gone: Set<Node> = []
    /// Members that have not published it as its home, because they end.
    var refusing: Set<Node> = []
    /// Members that have not answered.
    var awaited: Set<Node> = []
    /// Whether the sessions of this node have not committed it yet.
    var waitsHere = false
    var shares = TopicShares()
    /// The answer of a node that has refused it.
    var refusal: LinkAnswer?
    var deadline = Int64.max

    init(
        _ number: UInt64, _ topic: String, _ body: [UInt8], isFromNode: Bool, since: Int64,
        reply: @escaping (LinkAnswer) -> Void
    ) {
        self.number = number
        self.topic = topic
        self.body = body
        self.isFromNode = isFromNode
        self.since = since
        self.reply = reply
    }

    var isComplete: Bool { awaited.isEmpty && !waitsHere }

    /// Whether the node is not to publish it.
    func skips(_ node: Node) -> Bool { gone.contains(node) || refusing.contains(node) }

    /// Waits no longer for anybody.
    func expire() {
        for _ in awaited { shares.add(.unanswered) }
        if waitsHere || awaited.isEmpty { shares.add(.unanswered) }
        awaited = []
        waitsHere = false
    }
}

/// The purpose of a value that was sent on a link.
enum TopicTicket {
    /// It is delivered to the sessions of the other node.
    case share(UInt64)
    /// It is published at all nodes by the other one.
    case whole(UInt64)
    /// The newest value of a topic, for a node that may not have it.
    case memory
}

/// A value that another node has sent for the sessions of this one.
struct TopicArrival {
    let publication: LinkPublication
    let origin: ForwardOrigin
}

/// The search for sessions of nodes that have ended.
struct TopicSearch {
    /// The time between two of them.
    static let pauseNanoseconds: Int64 = 100_000_000

    var isUnderWay = false
    var next = Int64.min
}

/// The answer of a node to a value of a topic.
struct TopicReceipt: Codable {
    var sessions: Int
    /// Whether sessions that start later get the value, too; nil in the response to a client.
    var isRemembered: Bool?

    /// The place of the newest value of a topic, in the answer to a late one.
    private static let placeField = "Topic-Place"
    private static let lateCode = "topic_late"

    static func late(_ newest: UInt64) -> LinkAnswer {
        LinkAnswer(
            status: 409, code: lateCode, fields: [.init(placeField, "\(newest)")])
    }

    static func place(in answer: LinkAnswer) -> UInt64? {
        answer.fields.first { $0.name == placeField }.flatMap { UInt64($0.value) }
    }

    static func share(in answer: LinkAnswer) -> TopicShares.Share {
        switch (answer.status, answer.code) {
        case (200, _):
            guard let receipt = try? JSON.decode(TopicReceipt.self, from: answer.body) else {
                return .unanswered
            }
            return .delivered(
                sessions: receipt.sessions, isRemembered: receipt.isRemembered ?? false)
        case (404, "unknown_topic"): return .unheard
        case (409, lateCode): return .late
        // The other node's sessions do not have it.
        case (400..., _) where answer.status != 504: return .refused
        default: return .unanswered
        }
    }
}

/// Values that clients of this node have published, or that it has published as the home
/// of their topic.
struct TopicCounts: Sendable {
    enum Outcome: String, CaseIterable {
        /// All sessions that listen have it.
        case published
        /// No session has it: none listens, or it is not a value of the topic.
        case refused
        /// No session has it: a node could not be reached.
        case unavailable
        /// Some sessions may have it and others not.
        case partly
    }

    private var outcomes: [Outcome: UInt64] = [:]

    mutating func count(_ outcome: Outcome) { outcomes[outcome, default: 0] += 1 }

    mutating func add(_ other: TopicCounts) {
        for (outcome, count) in other.outcomes { outcomes[outcome, default: 0] += count }
    }

    func write(to text: inout PrometheusWriter) {
        text.counters(
            "topic_publications", "Values of topics published in the cluster, by outcome.",
            "outcome", Outcome.allCases.map { ($0.rawValue, outcomes[$0, default: 0]) })
    }
}

extension Problem {
    /// Why a value reaches no session.
    enum TopicFault {
        case unreachable, otherProgram, late, ending
    }

    static func topicUnavailable(_ fault: TopicFault) -> Problem {
        let reason =
            switch fault {
            case .unreachable: "a node of the cluster cannot be reached"
            case .otherProgram: "a node of the cluster runs a program that does not receive topics"
            case .late: "another node has published a value of the topic at the same time"
            case .ending: "a node is shutting down, and its sessions are not awake on others yet"
            }
        return Problem(
            503, "topic_unavailable", "nothing was published: \(reason)",
            fields: [("Retry-After", "1")])
    }

    static func topicPartlyPublished(sessions: Int, missing: Int) -> Problem {
        Problem(
            504, "topic_partly_published",
            "\(sessions) sessions have committed the value; each session of \(missing) nodes has "
                + "received it once or not at all",
            fields: [("Retry-After", "1")])
    }

    static let tooManyPublications = Problem(
        503, "too_busy", "nothing was published: too many values are being published",
        fields: [("Retry-After", "1")])
}
