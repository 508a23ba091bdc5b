/// The member at which a session wakes, if nobody has it awake.
///
/// Design: rendezvous hashing. Each member has a weight for each session, and the heaviest member
/// is the session's home. A member that joins takes its share from all others and moves nothing
/// between them; one that leaves gives its share to all others. Weights depend on addresses and not
/// on node numbers, so a process that is started again is the home of the same sessions.
///
/// Invariant: the weights never change between releases, or two nodes of different releases would
/// send a session back and forth.
struct Home {
    private let hash: UInt64

    /// - Parameter session: Its id. Sessions that differ only after the first `--` have one home: a
    ///   session and its parts are at one node most of the time, and their actions need no link.
    init(of session: String) { hash = Self.hash(Self.root(of: session)) }

    /// The part of an id that stands before the first `--`; all of it, if that would be nothing.
    static func root(of session: String) -> Substring.UTF8View {
        let bytes = session.utf8
        let dash = UInt8(ascii: "-")
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let next = bytes.index(after: index)
            if bytes[index] == dash, next < bytes.endIndex, bytes[next] == dash {
                return session[..<(index == bytes.startIndex ? bytes.endIndex : index)].utf8
            }
            index = next
        }
        return session[...].utf8
    }

    func weight(of address: String) -> UInt64 {
        // The weights of one address for two sessions, and of two addresses for one session, have
        // nothing to do with each other: both hashes are mixed before they meet.
        Self.mix(Self.mix(hash) &+ 0x9e37_79b9_7f4a_7c15 &* Self.mix(Self.hash(address.utf8)))
    }

    /// FNV-1a: the same on every machine and in every process, unlike `Hasher`.
    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    /// The finalizer of MurmurHash3: each bit of the result depends on each bit of the input. FNV
    /// alone leaves the weights of similar addresses in one order for most sessions.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 33)) &* 0xff51_afd7_ed55_8ccd
        mixed = (mixed ^ (mixed >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return mixed ^ (mixed >> 33)
    }
}

extension Members {
    /// The home of a session; nil if no member can be: all are leaving, or without an address, or
    /// cannot read the session.
    ///
    /// - Parameters:
    ///   - session: Its id.
    ///   - reactor: The session's reactor and the version of its stored state, if they are known.
    ///     Members that do not host the reactor, or only with an older version, are skipped in the
    ///     order of the weights.
    package func home(
        of session: String, needing reactor: (name: String, stateVersion: Int)? = nil
    ) -> Node? {
        let home = Home(of: session)
        var (best, bestWeight) = (nil as Member?, UInt64(0))
        for member in others + (isHeard ? [own] : []) {
            guard !member.isLeaving, !member.address.isEmpty else { continue }
            if let reactor, !member.canRead(reactor.name, reactor.stateVersion) { continue }
            let weight = home.weight(of: member.address)
            guard let heaviest = best else {
                (best, bestWeight) = (member, weight)
                continue
            }
            // Two members have one address while the first of two processes is not forgotten.
            guard (weight, member.node.number) > (bestWeight, heaviest.node.number) else {
                continue
            }
            (best, bestWeight) = (member, weight)
        }
        return best?.node
    }
}

extension Member {
    /// Whether this node can restore a session of a reactor from a state of this version.
    package func canRead(_ reactor: String, _ stateVersion: Int) -> Bool {
        reactors[reactor].map { $0 >= stateVersion } ?? false
    }
}
