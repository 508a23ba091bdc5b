/// The links of a client, by session.
///
/// Why not a dictionary: reading a field of a value in one copies the value, which has some forty fields,
/// and a send reads dozens of them. Here it is read, and changed, where it is.
struct LinkTable: Sendable {
    /// Where a session's link is among `links`.
    private var places: [SessionName: Int] = [:]
    /// Nil: free. Invariant: has exactly the links that `places` has, and the free places.
    private var links: [SessionLink?] = []
    private var free: [Int] = []

    /// A link; set nil to remove it.
    subscript(session: SessionName) -> SessionLink? {
        _read {
            if let place = places[session] { yield links[place] } else { yield nil }
        }
        _modify {
            if let place = places[session] {
                yield &links[place]
                if case nil = links[place] { remove(session, at: place) }
            } else {
                var link: SessionLink?
                yield &link
                if let link { add(link, of: session) }
            }
        }
    }

    var keys: some Collection<SessionName> { places.keys }

    /// In no order.
    var values: some Sequence<SessionLink> { links.lazy.compactMap(\.self) }

    private mutating func add(_ link: SessionLink, of session: SessionName) {
        if let place = free.popLast() {
            links[place] = link
            places[session] = place
        } else {
            places[session] = links.count
            links.append(link)
        }
    }

    private mutating func remove(_ session: SessionName, at place: Int) {
        places[session] = nil
        free.append(place)
    }
}
