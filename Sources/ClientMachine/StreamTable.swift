/// The streams of a client.
struct StreamTable: Sendable {
    /// Nil, which stands for streams that are missing, and all streams in the order in which they
    /// were made. Invariant: none of these is nil. Why not a dictionary: to read a field of a value
    /// in one copies the value, with its decoder.
    private var streams: [StreamConnection?] = [nil]
    /// The ids of `streams`; none has the number 0.
    private var ids = [StreamID(number: 0)]
    private var lastNumber: UInt64 = 0
    /// The followed sessions, in the order in which they were.
    var followed: [SessionName] = []
    /// The number of sessions that the server accepts on one stream, as far as is known (C2).
    var mostSessions = Int.max
    /// Whether the server supports patches; true until it refuses them (C8).
    var acceptsPatches = true
    /// The uptime at which the plan is made anew; nil: it is not.
    var planTime: Duration?

    /// A stream; set nil to remove it. `add` alone adds one.
    ///
    /// Inlined: as a call it would allocate memory for each access.
    subscript(id: StreamID) -> StreamConnection? {
        @inline(__always) _read { yield streams[place(of: id)] }
        @inline(__always) _modify {
            let place = place(of: id)
            yield &streams[place]
            if isChanged(place) { change(place) }
        }
    }

    private func place(of id: StreamID) -> Int { ids.firstIndex(of: id) ?? 0 }

    private func isChanged(_ place: Int) -> Bool {
        if case nil = streams[place] { place > 0 } else { place == 0 }
    }

    private mutating func change(_ place: Int) {
        guard place > 0 else { return streams[0] = nil }
        streams.remove(at: place)
        ids.remove(at: place)
    }

    /// In the order in which they were made.
    var all: [StreamConnection] { streams.compactMap(\.self) }
    /// The streams of events that are part of the plan.
    var wanted: [StreamConnection] { all.filter { $0.isWanted && !$0.isOfLog } }

    /// The facts on which the status of a session depends.
    struct Carrier {
        let id: StreamID
        let isOpen: Bool
    }

    /// The stream that says how a session is followed: the newest that is open, else the newest.
    func carrier(of session: SessionName) -> Carrier? {
        var newest: Carrier?
        for place in streams.indices {
            guard let carrier = streams[place]?.carrier(of: session) else { continue }
            guard let other = newest else { newest = carrier; continue }
            if carrier.isOpen != other.isOpen ? carrier.isOpen : carrier.id > other.id {
                newest = carrier
            }
        }
        return newest
    }

    mutating func add(
        _ shape: StreamShape, log: LogReader? = nil, within limits: ClientLimits
    ) -> StreamID {
        lastNumber += 1
        let id = StreamID(number: lastNumber)
        streams.append(StreamConnection(id: id, shape: shape, log: log, limits: limits))
        ids.append(id)
        return id
    }

    func stream(of log: LogID) -> StreamID? {
        streams.first { $0?.log?.id == log }??.id
    }

    /// Streams of an earlier plan that nothing depends on any more (C1): they are not open, or
    /// others have begun for all of their sessions.
    func retired(_ wantsStream: (SessionName) -> Bool) -> [StreamID] {
        let carried = Set(wanted.filter { $0.isOpen }.flatMap(\.live))
        return all.filter { stream in
            !stream.isWanted
                && (!stream.isOpen
                    || stream.live.allSatisfy { carried.contains($0) || !wantsStream($0) })
        }.map(\.id)
    }

    /// The session has nothing more on any stream of events that is open or resumes one.
    mutating func end(_ session: SessionName) {
        for place in streams.indices where streams[place]?.isOfLog == false {
            streams[place]?.end(session)
        }
    }
}
