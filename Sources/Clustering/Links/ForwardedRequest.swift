package import Cluster
package import Feeds
package import Sessions
package import Sockets

package enum ForwardStage {
    /// At this node: it is between two attempts, or is served here.
    case here
    /// It waits for a link.
    case waiting(OutgoingLinks.FarEnd)
    case sent(OutgoingLinks.FarEnd, UInt32)
    /// It waits for the next tick (``ClusterWay/pause(_:)``).
    case paused
}

/// A client's request or a part's action, on its way to the node that decides on its session.
/// Meanwhile the request itself is parked at its connection.
package final class ForwardedRequest {
    package let connection: ConnectionID
    package let session: SessionID
    /// The action that the request carries; nil for a client's request.
    package let part: PartAction?
    package var forwarding: Forwarding
    package var place = ForwardStage.here
    /// The node that was asked last. Also nil if the owner is not a member that this node knows.
    package var asked: Node?
    /// How the last attempt ended.
    package var ending = Forwarding.Ending.moved(nil)
    /// How often the owner of the session was looked up.
    package var looks = 0

    package init(
        of connection: ConnectionID, for session: SessionID, _ forwarding: Forwarding,
        part: PartAction? = nil
    ) {
        self.connection = connection
        self.session = session
        self.forwarding = forwarding
        self.part = part
    }

    package var onlyReads: Bool { forwarding.onlyReads }
}

/// The link and the stream on which a request of another node is answered.
package struct ForwardOrigin: Hashable, Sendable {
    var link: ConnectionID
    var stream: UInt32

    package init(_ link: ConnectionID, _ stream: UInt32) {
        self.link = link
        self.stream = stream
    }
}
