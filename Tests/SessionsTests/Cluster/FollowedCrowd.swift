import Storage
import Testing

@testable import Feeds
@testable import Sessions

/// A session that the first node owns, and readers at the second, of which some are on
/// another loop.
struct FollowedCrowd {
    let rigs: ClusterRig
    let links: ScriptedLinks
    let session: Session
    let readers: [(Selection, UInt64)]
    let second: SecondLoop

    /// Posts at the owner; the letters to the other node wait.
    func post(_ body: String) throws { _ = try rigs.post(body, to: session, at: 0) }

    var truth: Truth {
        get throws { try Truth(rigs.cluster.journal.all, of: session) }
    }
}

extension FollowedStreams {
    /// Those that a follower frames once for a stream.
    static var shared: [Selection] { [.allPulses, .allActivities, .log] }

    /// Two readers of each of these selections.
    func spread(_ selections: [Selection] = Self.shared) throws -> FollowedCrowd {
        let (rigs, links, session) = try linked(sendingRecords: true, replicasFrom: 1)
        let readers = try selections.flatMap { [$0, $0] }.map {
            ($0, try rigs.stream("s", at: 1, $0))
        }
        deliver(links, rigs)
        let second = try #require(rigs[1].second)
        try #require(second.table.feeds.replicas.count == selections.count)
        return FollowedCrowd(
            rigs: rigs, links: links, session: session, readers: readers, second: second)
    }
}
