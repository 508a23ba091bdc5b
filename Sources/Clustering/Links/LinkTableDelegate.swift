package import Cluster
package import Feeds
internal import Sessions
package import Wire

/// The owner of the requests that links carry, and of the sessions that are followed.
package protocol LinkTableDelegate: AnyObject {
    /// The request as it is sent; nil if its client has gone.
    func request(of forward: ForwardedRequest) -> LinkRequest?
    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer)
    func forwarded(_ forward: ForwardedRequest, _ ending: Forwarding.Ending)
    /// The request that was paused is asked again.
    func pauseEnded(_ forward: ForwardedRequest)
    /// Each request is answered once, unless ``requestLeft(_:)`` is called for it.
    func requestArrived(_ request: LinkRequest, from origin: ForwardOrigin)
    /// Nobody waits for the answer.
    func requestLeft(_ origin: ForwardOrigin)
    /// The answer is due without waiting for effects.
    func requestHurried(_ origin: ForwardOrigin)

    // MARK: Hints

    /// The position of a session that this node owns; nil if this node does not own it.
    func ownedEnd(of session: SessionID) -> CommittedEnd?
    /// The owner of a followed session reports its newest position.
    func hinted(_ session: SessionID, at end: CommittedEnd)
    /// The owner of a followed session sends the records up to its newest position.
    func received(_ records: CommittedRecords, of session: SessionID, from owner: Node)
    /// There are no more hints of these sessions.
    func hintsEnded(of sessions: [SessionID])

    // MARK: Presence

    /// Another node sent readers of a session that this node does not know. Nil: there are no more.
    func presenceArrived(_ present: PresentReaders?, of session: SessionID, from part: PresencePart)
    /// Another node needs the readers at this node.
    func presenceIsWanted(of session: SessionID)
}
