import Cluster
import Feeds
import Reactors
import Storage

@testable import Sessions

/// The values that a process has read of the topic, in order.
final class TopicEnd {
    private(set) var read: [(place: TopicPosition, value: Int)] = []
    /// The values of publications that wait for an answer, by their tokens.
    var tokens: [UInt64: Int] = [:]

    func receive(_ value: TopicValue?, at place: TopicPosition) {
        guard let value = try? value?.decode(Int.self) else { return }
        read.append((place, value))
    }
}

/// The values that clients have published.
struct TopicLife {
    static let topic = "news"

    /// The outcome of the publication of each value.
    var outcomes: [ClusterSimulation.Outcome] = []
    /// The ends of all processes, also of those that have ended.
    var ends: [(node: Node, end: TopicEnd)] = []
    /// The number of gaps: times that a process has missed values between two others. A session
    /// reads the missing values from the journal.
    var gaps = 0
}

extension ClusterSimulation {
    // MARK: Steps

    /// A client publishes a value at any node.
    func publish(at process: Process) {
        let value = topics.outcomes.count
        topics.outcomes.append(.refused)
        guard !process.isPaused, let id = SessionID(topic: TopicLife.topic) else { return }
        fetch(id, at: process) { [unowned self, unowned process] found in
            guard case .session(let session) = found else { return }
            // The value may be applied from now on.
            topics.outcomes[value] = .none
            process.topics.tokens[process.rig.lastToken + 1] = value
            do {
                try process.rig.post("{\"value\":\(value)}", to: session)
            } catch {
                topics.outcomes[value] = .refused
            }
        }
    }

    /// Without a fence, the topic's owner may not know that another node has published a value. The
    /// chain then refuses the owner's next value.
    func finishTopics() {
        for process in processes {
            publish(at: process)
            settle()
        }
    }

    // MARK: The oracle

    func checkTopics() {
        let records = cluster.journal.all.filter {
            $0.session == "$\(TopicLife.topic)" && $0.kind == .mutation
        }
        let values = records.map { Int(String(decoding: $0.content, as: UTF8.self)) ?? -1 }
        for (value, outcome) in topics.outcomes.enumerated() {
            let count = values.count { $0 == value }
            switch outcome {
            case .done where count != 1: violations.append("value \(value) is there \(count) times")
            case .refused where count != 0:
                violations.append("value \(value) was refused, and is there")
            case .done, .refused, .none, .unknown:
                if count > 1 { violations.append("value \(value) is there \(count) times") }
            }
        }
        for (node, end) in topics.ends { check(end, of: node, records.map(\.number), values) }
        for process in processes where process.topics.read.last?.value != values.last {
            violations.append("the node \(process.node.node.number) lacks the newest value")
        }
    }

    /// A process reads values in order, each once. It may miss some. Its sessions then see the gap
    /// between two places.
    private func check(_ end: TopicEnd, of node: Node, _ numbers: [UInt64], _ values: [Int]) {
        var last: UInt64 = 0
        for (place, value) in end.read {
            if place.number <= last {
                violations.append("the node \(node.number) reads \(place.number) after \(last)")
            }
            if let index = numbers.firstIndex(of: place.number), values[index] != value {
                violations.append("the node \(node.number) reads \(value) at \(place.number)")
            }
            if last > 0, place.number > last + 1 { topics.gaps += 1 }
            last = place.number
        }
    }
}
