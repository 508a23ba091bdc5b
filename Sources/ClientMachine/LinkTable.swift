/// The links of a client, by session.
///
/// Why not a dictionary: reading a field of a value in one copies the value with its forty fields.
/// Here it is changed in place; what each send or event asks is a mutating function of the link.
struct LinkTable: Sendable {
    private var places: [SessionName: Int] = [:]
    /// Nil: free. The first is always free: it stands for the links that are missing. Invariant:
    /// has exactly the links that `places` has, and the free places.
    private var links: [SessionLink?] = [nil]
    private var free: [Int] = []
    /// The session that was changed last: most inputs are about one.
    private var recent: (session: SessionName, place: Int)?

    /// A link; set nil to remove it.
    ///
    /// Inlined: as a call it would allocate memory for each access.
    subscript(session: SessionName) -> SessionLink? {
        @inline(__always) _read { yield links[place(of: session)] }
        @inline(__always) _modify {
            let place = noted(session)
            yield &links[place]
            if isChanged(place) { change(session, place) }
        }
    }

    func contains(_ session: SessionName) -> Bool { place(of: session) > 0 }

    var keys: some Collection<SessionName> { places.keys }

    /// In no order.
    var values: some Sequence<SessionLink> { links.lazy.compactMap(\.self) }

    private func place(of session: SessionName) -> Int {
        if let recent, recent.session == session { return recent.place }
        return places[session] ?? 0
    }

    private mutating func noted(_ session: SessionName) -> Int {
        if let recent, recent.session == session { return recent.place }
        let place = places[session] ?? 0
        recent = (session, place)
        return place
    }

    private func isChanged(_ place: Int) -> Bool {
        if case nil = links[place] { place > 0 } else { place == 0 }
    }

    private mutating func change(_ session: SessionName, _ place: Int) {
        recent = nil
        guard place == 0 else {
            places[session] = nil
            free.append(place)
            return
        }
        let link = links[0]
        links[0] = nil
        if let place = free.popLast() {
            links[place] = link
            places[session] = place
        } else {
            places[session] = links.count
            links.append(link)
        }
    }
}
