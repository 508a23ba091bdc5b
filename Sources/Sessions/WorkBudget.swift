internal import Synchronization

/// Limits the bytes that exist only because somebody asked for them: responses and snapshots until
/// the connection has accepted them, states that are rebuilt from the journal, forks until they are
/// committed, states that are encoded ahead of their events, and the states that streams keep.
///
/// Design: the owner of such bytes holds a ``WorkCharge`` as long as it holds the bytes. The charge
/// gives them back when it is released, so exactly once, however the request ends: the answer, a
/// closed connection, the session's end, a commit that fails, the end of the loop.
///
/// Bytes that several requests share count once, for the first client. Few bytes
/// (``smallestBytes``) do not count: the numbers of connections and subscribers bound them. What
/// exceeds a limit alone is admitted while nothing else counts: a state may be larger than it was
/// expected to be, and a request for it would be refused for ever.
package final class WorkBudget: Sendable {
    private let bytes: ByteBudget<WorkClient>
    /// The bytes that were given back and not taken by ``takeReleased(from:)``.
    private let released = Atomic<Int>(0)

    /// Fewer bytes are not counted: a connection may have as many unsent anyway.
    package static let smallestBytes = 64 << 10

    /// - Parameter clientLimit: the share of one client.
    package init(limit: Int = .max / 4, clientLimit: Int = .max / 4) {
        bytes = ByteBudget(limit: limit, clientLimit: clientLimit)
    }

    /// The bytes that are counted now.
    package var used: Int { bytes.used }

    package func adopt(limit: Int, clientLimit: Int) {
        bytes.adopt(limit: limit, clientLimit: clientLimit)
    }

    /// Counts bytes until the charge is released; nil if there is no room for them.
    ///
    /// - Parameters:
    ///   - client: nil: they are in no client's share.
    ///   - mayBeDropped: whether the bytes are optional. Optional bytes leave half of the budget to
    ///     bytes without which a request is refused, and have a share of their own.
    package func charge(
        _ count: Int, for client: WorkClient?, mayBeDropped: Bool = false
    ) -> WorkCharge? {
        let client = mayBeDropped ? client?.ofDroppable : client
        guard bytes.charge(count, for: client, mayBeDropped ? .leavingHalf : .alone(own: 0)) else {
            return nil
        }
        return WorkCharge(count, for: client, of: self, mayBeDropped: mayBeDropped)
    }

    /// Counts more bytes of a charge, which has `own`.
    fileprivate func add(_ count: Int, to charge: WorkCharge, own: Int) -> Bool {
        bytes.charge(
            count, for: charge.client, charge.mayBeDropped ? .leavingHalf : .alone(own: own))
    }

    fileprivate func giveBack(_ count: Int, for client: WorkClient?) {
        bytes.giveBack(count, for: client)
        released.add(count, ordering: .relaxed)
    }

    /// Takes the number of bytes that were given back since the last call, if they are at least
    /// `least`; otherwise 0. The heap has freed about as many.
    package func takeReleased(from least: Int) -> Int {
        guard released.load(ordering: .relaxed) >= least else { return 0 }
        return released.exchange(0, ordering: .relaxed)
    }
}

/// Bytes that a ``WorkBudget`` counts as long as this object exists.
package final class WorkCharge: Sendable {
    private let budget: WorkBudget
    fileprivate let client: WorkClient?
    fileprivate let mayBeDropped: Bool
    private let count: Atomic<Int>

    fileprivate init(
        _ count: Int, for client: WorkClient?, of budget: WorkBudget, mayBeDropped: Bool
    ) {
        self.budget = budget
        self.client = client
        self.mayBeDropped = mayBeDropped
        self.count = Atomic(count)
    }

    deinit { budget.giveBack(count.load(ordering: .relaxed), for: client) }

    /// Changes the number of bytes; false, without a change, if there is no room for more.
    ///
    /// Called only by the loop that uses the charge.
    package func resize(to bytes: Int) -> Bool {
        let present = count.load(ordering: .relaxed)
        let growth = bytes - present
        if growth > 0 {
            guard budget.add(growth, to: self, own: present) else { return false }
        } else {
            budget.giveBack(-growth, for: client)
        }
        count.add(growth, ordering: .relaxed)
        return true
    }
}

/// There is no room in a ``WorkBudget``.
package struct WorkOverload: Error {}

/// A client as a ``WorkBudget`` counts it: by its subject or its network.
package struct WorkClient: Hashable, Sendable {
    /// Why bytes: two subjects that are canonically equal are two clients.
    private let name: [UInt8]

    package init(subject: String) { name = Array("s".utf8) + Array(subject.utf8) }

    package init(network: String) { name = Array("n".utf8) + Array(network.utf8) }

    private init(_ name: [UInt8]) { self.name = name }

    /// The same client, for its share of bytes that may be dropped.
    fileprivate var ofDroppable: WorkClient { WorkClient(Array("d".utf8) + name) }
}
