internal import Synchronization

/// Limits the bytes that exist only because somebody asked for them: responses and snapshots until
/// the connection has accepted them, states that are rebuilt from the journal, forks until they are
/// committed, states that are encoded ahead of their events, and the states that streams keep.
///
/// Design: the owner of such bytes holds a ``WorkCharge`` as long as it holds the bytes. When the
/// charge is released, it gives them back. So they are given back exactly once, however the request
/// ends: the answer, a closed connection, the session's end, a commit that fails, the end of the
/// loop.
///
/// Bytes that several clients hold count once for the process, and once in the share of each of
/// these clients (``WorkBytes``). Few bytes (up to ``smallestBytes``) do not count: the numbers of
/// connections and subscribers bound them. Bytes that exceed a limit are admitted if only optional
/// bytes count besides them. Otherwise a state that is larger than a limit could never be read.
/// (Optional bytes must not prevent that, because streams may keep them for ever.)
package final class WorkBudget: Sendable {
    private let bytes: ByteBudget<WorkClient>
    /// The bytes that were given back and not taken by ``takeReleased(from:)``.
    private let released = Atomic<Int>(0)

    /// Fewer bytes are not counted: a connection may have that many unsent bytes anyway.
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
    ///   - copy: the copy of a session from which the bytes are made. It does not prevent the bytes
    ///     from being admitted alone.
    package func charge(
        _ count: Int, for client: WorkClient?, mayBeDropped: Bool = false,
        besides copy: WorkCharge? = nil
    ) -> WorkCharge? {
        let client = mayBeDropped ? client?.ofDroppable : client
        let rule: ByteBudget<WorkClient>.Rule =
            mayBeDropped ? .leavingHalf : .alone(own: copy?.needed ?? 0)
        guard bytes.charge(count, for: client, rule) else { return nil }
        return WorkCharge(count, for: client, of: WorkBytes(count, of: self, mayBeDropped))
    }

    /// Counts bytes that count already in the share of one more client.
    fileprivate func share(_ count: Int, with client: WorkClient?) -> Bool {
        bytes.chargeShare(count, of: client, .alone(own: 0))
    }

    fileprivate func giveBack(_ count: Int, _ areOptional: Bool) {
        bytes.giveBack(count, for: nil, areOptional: areOptional)
        released.add(count, ordering: .relaxed)
    }

    fileprivate func giveBackShare(_ count: Int, of client: WorkClient?) {
        bytes.giveBackShare(count, of: client)
    }

    /// Counts bytes in the share of a client, whether there is room or not.
    fileprivate func addShare(_ count: Int, of client: WorkClient?) {
        _ = bytes.chargeShare(count, of: client, .any)
    }

    /// Counts more bytes for a charge that already has `own`.
    fileprivate func add(_ count: Int, to charge: WorkCharge, own: Int) -> Bool {
        bytes.charge(
            count, for: charge.client, charge.bytes.mayBeDropped ? .leavingHalf : .alone(own: own))
    }

    /// Takes the number of bytes that were given back since the last call, if they are at least
    /// `least`; otherwise 0. The heap has freed about as many.
    package func takeReleased(from least: Int) -> Int {
        guard released.load(ordering: .relaxed) >= least else { return 0 }
        return released.exchange(0, ordering: .relaxed)
    }
}

/// Bytes that count for the process, once, as long as a ``WorkCharge`` of theirs exists.
///
/// Why each client that holds them has a charge: if only the first one had a charge, its share
/// would stay used after it has left, and the others could hold as much as they like at its cost.
package final class WorkBytes: Sendable {
    private struct Holder {
        let client: WorkClient?
        weak var charge: WorkCharge?
    }

    fileprivate let budget: WorkBudget
    fileprivate let mayBeDropped: Bool
    private let count: Atomic<Int>
    /// Clients that have left are removed when another one arrives.
    private let holders = Mutex<[Holder]>([])

    fileprivate init(_ count: Int, of budget: WorkBudget, _ mayBeDropped: Bool) {
        self.count = Atomic(count)
        self.budget = budget
        self.mayBeDropped = mayBeDropped
    }

    deinit { budget.giveBack(count.load(ordering: .relaxed), mayBeDropped) }

    /// The charge of one more client that holds the bytes. All requests of a client have the same
    /// charge.
    package func charge(for client: WorkClient?) throws(WorkOverload) -> WorkCharge {
        let charge = holders.withLock { holders -> WorkCharge? in
            holders.removeAll { $0.charge == nil }
            if let own = holders.first(where: { $0.client == client })?.charge { return own }
            let count = count.load(ordering: .relaxed)
            guard budget.share(count, with: client) else { return nil }
            let charge = WorkCharge(sharing: count, with: client, of: self)
            holders.append(Holder(client: client, charge: charge))
            return charge
        }
        guard let charge else { throw WorkOverload() }
        return charge
    }

    fileprivate func add(_ charge: WorkCharge) {
        holders.withLock { $0.append(Holder(client: charge.client, charge: charge)) }
    }

    fileprivate func add(_ growth: Int) { count.add(growth, ordering: .relaxed) }
}

/// Bytes that count in the share of a client, and for the process, as long as this object exists.
package final class WorkCharge: Sendable {
    package let bytes: WorkBytes
    fileprivate let client: WorkClient?
    private let count: Atomic<Int>

    fileprivate convenience init(_ count: Int, for client: WorkClient?, of bytes: WorkBytes) {
        self.init(sharing: count, with: client, of: bytes)
        bytes.add(self)
    }

    fileprivate init(sharing count: Int, with client: WorkClient?, of bytes: WorkBytes) {
        self.bytes = bytes
        self.client = client
        self.count = Atomic(count)
    }

    deinit { bytes.budget.giveBackShare(count.load(ordering: .relaxed), of: client) }

    /// The number of bytes.
    package var size: Int { count.load(ordering: .relaxed) }

    /// The number of bytes; 0 if they are optional.
    fileprivate var needed: Int { bytes.mayBeDropped ? 0 : size }

    /// Changes the number of bytes; false, without a change, if there is no room for more.
    ///
    /// Called only by the loop that uses the charge, and before the bytes are shared.
    ///
    /// - Parameter copy: as in ``WorkBudget/charge(_:for:mayBeDropped:besides:)``.
    package func resize(to bytes: Int, besides copy: WorkCharge? = nil) -> Bool {
        let present = count.load(ordering: .relaxed)
        let growth = bytes - present
        let budget = self.bytes.budget
        if growth > 0 {
            guard budget.add(growth, to: self, own: present + (copy?.needed ?? 0)) else {
                return false
            }
        } else {
            budget.giveBack(-growth, self.bytes.mayBeDropped)
            budget.giveBackShare(-growth, of: client)
        }
        count.add(growth, ordering: .relaxed)
        self.bytes.add(growth)
        return true
    }

    /// The same optional bytes, which count for another client from now on. They may exceed its
    /// share; they are then dropped when more are added.
    package func passed(to client: WorkClient?) -> WorkCharge {
        let client = client?.ofDroppable
        guard client != self.client else { return self }
        let count = count.load(ordering: .relaxed)
        bytes.budget.addShare(count, of: client)
        return WorkCharge(count, for: client, of: bytes)
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
