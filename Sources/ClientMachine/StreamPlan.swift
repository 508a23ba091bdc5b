/// Which sessions share a stream (C1, C2).
///
/// Sessions share a stream with those that want states, or with those that do not: a large state is
/// then never sent to a client that does not want it. A stream whose sessions and demand are
/// unchanged stays as it is.
struct StreamPlan: Equatable {
    /// A session that wants events.
    struct Wish: Equatable {
        let session: SessionName
        let demand: Demand
        let start: Following.Start
    }

    struct Group: Equatable {
        let shape: StreamShape
        /// The stream that is this group already.
        let same: StreamID?
    }

    private(set) var groups: [Group] = []

    /// - Parameters:
    ///   - wishes: in the order in which the sessions were followed.
    ///   - most: sessions on one stream; 1 for a server without streams of several sessions.
    init(_ wishes: [Wish], existing: [StreamConnection], most: Int, targetBytes: Int) {
        for kind in Self.kinds(of: wishes) {
            let members = wishes.filter { Kind($0) == kind }
            let streams = existing.filter {
                ($0.hasBegun ? .present : $0.shape.start) == kind.start
                    && $0.demand.states == kind.states
            }
            groups += Self.groups(members, streams, most, targetBytes)
        }
    }

    private struct Kind: Hashable {
        let states: Bool
        let start: Following.Start

        init(_ wish: Wish) {
            states = wish.demand.states
            start = wish.start
        }
    }

    /// In order of their first member, so that a plan does not depend on hashes.
    private static func kinds(of wishes: [Wish]) -> [Kind] {
        var seen: Set<Kind> = []
        return wishes.map(Kind.init).filter { seen.insert($0).inserted }
    }

    private static func groups(
        _ wishes: [Wish], _ streams: [StreamConnection], _ most: Int, _ targetBytes: Int
    ) -> [Group] {
        var homes = streams.map { stream in
            let live = Set(stream.live)
            return wishes.filter { live.contains($0.session) }
        }
        homes.removeAll { $0.isEmpty || !fits($0, most, targetBytes) }
        let placed = Set(homes.joined().map(\.session))
        for wish in wishes where !placed.contains(wish.session) {
            let room = homes.firstIndex { fits($0 + [wish], most, targetBytes) }
            if let room { homes[room].append(wish) } else { homes.append([wish]) }
        }
        // Streams that have become small are joined, when that saves one.
        if homes.count > 1, fits(homes[homes.count - 2] + homes[homes.count - 1], most, targetBytes)
        {
            let last = homes.removeLast()
            homes[homes.count - 1] += last
        }
        return homes.map { group($0, streams) }
    }

    private static func group(_ wishes: [Wish], _ streams: [StreamConnection]) -> Group {
        let sessions = wishes.map(\.session)
        let demand = wishes.reduce(Demand.nothing) { $0.union($1.demand) }
        let same = streams.first { Set($0.live) == Set(sessions) && $0.demand == demand }
        let shape = StreamShape(sessions: sessions, demand: demand, start: wishes[0].start)
        return Group(shape: shape, same: same?.id)
    }

    private static func fits(_ wishes: [Wish], _ most: Int, _ targetBytes: Int) -> Bool {
        // A session has its parameter, and an entry of the vector with its comma.
        let bytes = wishes.reduce(0) { $0 + $1.session.text.utf8.count + 9 + 41 }
        return wishes.count <= most && bytes <= targetBytes
    }
}
