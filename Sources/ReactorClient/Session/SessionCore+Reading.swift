internal import JSONCoding
internal import Reactors

// A reader is registered before the call returns: it misses no later element.

extension SessionCore {
    func states(_ limit: Int) -> ReactorStream<State> {
        let (stream, feed) = ReactorStream<State>.make(buffer: limit)
        if let shown { _ = feed.push(shown) }
        register(feed) { $0.shown = { feed.push($0) } }
        return stream
    }

    func parts<Part: Equatable & Sendable>(
        _ path: any KeyPath<State, Part> & Sendable, _ limit: Int
    ) -> ReactorStream<Part> {
        let (stream, feed) = ReactorStream<Part>.make(buffer: limit)
        var last = shown?[keyPath: path]
        if let last { _ = feed.push(last) }
        register(feed) { reader in
            reader.shown = { state in
                let part = state[keyPath: path]
                guard part != last else { return true }
                last = part
                return feed.push(part)
            }
        }
        return stream
    }

    func pulses<Value: Sendable>(
        _ path: any KeyPath<State, Pulse<Value>> & Sendable, _ limit: Int
    ) -> ReactorStream<Value> {
        guard let confirmed, let name = JSON.pulseName(at: path, in: confirmed),
            let type = Value.self as? any Decodable.Type
        else {
            preconditionFailure(
                "\(path) does not lead to a @Pulse that is a field of \(State.self) itself")
        }
        return pulses(name, limit, present: { $0[keyPath: path].value }) { data in
            Self.decode(type, data) as? Value
        }
    }

    func pulses<Value: Decodable & Sendable>(
        _ name: String, as type: Value.Type, _ limit: Int
    ) -> ReactorStream<Value> {
        // A program with shapes alone may have no pulse in its state: the first value is that of
        // the member with this name, if there is one.
        pulses(name, limit, present: { Self.member(name, of: $0, as: type) }) { data in
            Self.decode(type, data) as? Value
        }
    }

    func activities(_ limit: Int) -> ReactorStream<Activity> {
        let (stream, feed) = ReactorStream<Activity>.make(buffer: limit)
        register(feed) { $0.activity = { feed.push($0) } }
        return stream
    }

    func events(_ limit: Int) -> ReactorStream<Event> {
        let backlog = takeBacklog()
        let kept = backlog?.events ?? []
        // Room for what is kept, so that only what is left out ends the stream.
        let isCut = backlog?.isCut ?? false
        let (stream, feed) = ReactorStream<Event>.make(
            buffer: isCut ? kept.count : kept.count + min(limit, .max - kept.count))
        for event in kept { _ = feed.push(event) }
        if isCut, let last = kept.last {
            _ = feed.push(last)
            return stream
        }
        register(feed) { $0.event = { feed.push($0) } }
        return stream
    }

    func statuses(_ limit: Int) -> ReactorStream<LinkStatus> {
        let (stream, feed) = ReactorStream<LinkStatus>.make(buffer: limit)
        _ = feed.push(status)
        register(feed) { $0.status = { feed.push($0) } }
        return stream
    }

    func presences(_ limit: Int) -> ReactorStream<Presence> {
        let (stream, feed) = ReactorStream<Presence>.make(buffer: limit)
        if let presence { _ = feed.push(presence) }
        register(feed) { $0.presence = { feed.push($0) } }
        return stream
    }

    private func pulses<Value: Sendable>(
        _ name: String, _ limit: Int, present: @escaping (State) -> Value?,
        decode: @escaping ([UInt8]) -> Value?
    ) -> ReactorStream<Value> {
        let (stream, feed) = ReactorStream<Value>.make(buffer: limit)
        let newest = freshPulse(name).flatMap(decode) ?? confirmed.flatMap(present)
        if let newest { _ = feed.push(newest) }
        register(feed) { reader in
            reader.pulse = PulseReader(
                name: name,
                // A value that this program cannot decode is left out; its state says so.
                assigned: { decode($0).map { feed.push($0) } ?? true },
                present: { present($0).map { feed.push($0) } ?? true })
        }
        return stream
    }

    private func register<Element>(
        _ feed: ReactorStream<Element>.Feed,
        _ set: (inout SessionReaders<State, Activity>.Reader) -> Void
    ) {
        guard !isOver else { return feed.finish() }
        var reader = SessionReaders<State, Activity>.Reader { feed.finish() }
        set(&reader)
        let number = readers.add(reader)
        feed.whenAbandoned { [weak self] in
            guard let self else { return }
            Task { await self.forget(number) }
        }
    }

    private static func decode(_ type: any Decodable.Type, _ data: [UInt8]) -> Any? {
        try? JSON.decode(type, from: data)
    }

    private static func member<Value: Decodable>(
        _ name: String, of state: State, as type: Value.Type
    ) -> Value? {
        var bytes: [UInt8] = []
        guard (try? JSON.encode(state, into: &bytes)) != nil,
            let member = JSON.members(of: bytes)?[name]
        else { return nil }
        return try? JSON.decode(type, from: member)
    }
}
