package import Cluster

/// A client's request on its way to the node that decides on its session: where it goes next, and
/// what the client gets if nobody serves it. A part's action on its way to its parent is such a
/// request, and the part is the client.
///
/// Invariant: the client gets ``Failure/unreachable``, which says that nothing was applied, only if
/// no node can have begun the request. A request that may have taken effect is sent again only if
/// the client made it repeatable with an `Idempotency-Key`.
package struct Forwarding: Sendable {
    package struct Limits: Sendable {
        package var tries: Int
        /// No attempt begins after this time. An attempt that has begun may take longer: a request
        /// may wait until effects have settled.
        package var nanoseconds: Int64
        /// Whether these limits restart once, after a node has given the request up. A node that
        /// was cut off from the journal may keep a request for as long as its lease.
        package var mayBeginAnew = false

        /// The limits of a client's request: the client can repeat it.
        package static let request = Limits(
            tries: 3, nanoseconds: 2_000_000_000, mayBeginAnew: true)
        /// The limits of a part's action, which nobody repeats.
        package static let part = Limits(tries: 32, nanoseconds: 10_000_000_000)
    }

    /// How an attempt ended without an answer.
    package enum Ending: Equatable, Sendable {
        /// The node did not serve the request, because another node owns the session; nil if it
        /// does not know which.
        case moved(Node?)
        /// The request has not reached the node: it refused the connection, did not prove itself,
        /// or the link has no room.
        case notSent
        /// The request was sent, and the link has ended or become silent.
        case lost
        /// The node has answered that it does not know whether the request took effect; or it is no
        /// longer a member, and has not answered.
        case unknown
        /// The node still serves an earlier attempt of this request, whose link has ended
        /// (``meetsEarlierTry(_:_:)``).
        case running(Node)
    }

    package enum Next: Equatable, Sendable {
        case send(Node)
        /// The same node is asked again after a moment: with the next tick of the links.
        case sendLater(Node)
        /// This node finds out which node decides, and may claim the session itself.
        case lookUp
        case fail(Failure)
    }

    package enum Failure: Equatable, Sendable {
        /// 503 `owner_unreachable`: nothing was applied.
        case unreachable
        /// 504 `outcome_unknown`: applied once or not at all.
        case outcomeUnknown
    }

    private var began: Int64
    private let limits: Limits
    private let isRepeatable: Bool
    package let onlyReads: Bool
    private var tries = 0
    private var mayBeApplied = false
    /// Whether the limits have restarted: the node that was asked had kept the request for longer
    /// than the limits, and then gave it up.
    private var isRenewed = false
    /// The node that gave up the request in the last attempt.
    private var gaveUp: Node?

    /// - Parameters:
    ///   - now: Nanoseconds of a monotonic clock.
    ///   - isRepeatable: Whether the request has an `Idempotency-Key`.
    ///   - onlyReads: Whether the request has no effect, so that it may be sent again.
    package init(
        at now: Int64, isRepeatable: Bool, onlyReads: Bool = false, _ limits: Limits = .request
    ) {
        began = now
        self.limits = limits
        self.isRepeatable = isRepeatable
        self.onlyReads = onlyReads
    }

    package mutating func beginTry() {
        tries += 1
        gaveUp = nil
    }

    /// - Parameter asked: The node of the attempt that has ended; nil if none was asked.
    package mutating func next(
        after ending: Ending, by asked: Node? = nil, at now: Int64, _ members: Members
    ) -> Next {
        if ending == .lost || ending == .unknown, !onlyReads {
            mayBeApplied = true
            guard isRepeatable else { return .fail(.outcomeUnknown) }
        }
        if ending == .moved(nil) || ending == .unknown {
            gaveUp = asked
            renew(at: now)
        }
        if case .running(let node) = ending {
            // The earlier attempt counts.
            tries -= 1
            let isLate = now - began >= limits.nanoseconds
            return isLate ? .fail(failure) : .sendLater(node)
        }
        guard tries < limits.tries, now - began < limits.nanoseconds else {
            return .fail(failure)
        }
        // The journal may name a node that no longer decides, until that node is no longer a
        // member.
        if case .moved(let owner?) = ending, owner != members.own.node, owner != gaveUp,
            let member = members[owner]
        {
            return member.address.isEmpty ? .fail(failure) : .send(owner)
        }
        return .lookUp
    }

    private mutating func renew(at now: Int64) {
        guard limits.mayBeginAnew, !isRenewed, now - began >= limits.nanoseconds else { return }
        isRenewed = true
        (began, tries) = (now, 0)
    }

    /// Whether a response means that the outcome is unknown, and the request is sent again instead:
    /// its key finds the outcome.
    package func isRepeated(_ status: Int, _ code: String) -> Bool {
        isRepeatable && !isRenewed && status == 504 && code == "outcome_unknown"
    }

    /// Whether a response says that an earlier attempt of this request is still being served: 409
    /// `request_running`. If no earlier attempt may have taken effect, another request of the
    /// client has the same key, and the response goes to the client.
    ///
    /// - Parameter code: The problem's code; empty for any other response.
    package func meetsEarlierTry(_ status: Int, _ code: String) -> Bool {
        mayBeApplied && status == 409 && code == "request_running"
    }

    /// The failure that the client gets in place of a response; nil if it gets the response. Why:
    /// an earlier attempt may have taken effect. But the response is only about its own attempt,
    /// and says that nothing was applied (503, 507), or that the request is running.
    package func failure(inPlaceOf status: Int, _ code: String) -> Failure? {
        let isDenial = mayBeApplied && (status == 503 || status == 507)
        return isDenial || meetsEarlierTry(status, code) ? .outcomeUnknown : nil
    }

    /// The failure of a request that is given up.
    package var failure: Failure { mayBeApplied ? .outcomeUnknown : .unreachable }
}
