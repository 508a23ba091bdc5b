internal import Feeds
internal import JSONCoding
public import Reactors
internal import Sessions

// Each stream is one reader of the session's stream (``ProgramReader``), so it costs the session as
// much as the stream of a client: an offset.

extension HostedSession {
    /// The shown state: first the current one, then one for each version, even if it is equal.
    ///
    /// The stream waits for a slow reader. At most `limit` elements and 64 KiB of the session's
    /// stream wait in memory, and the rest in the session's history. Fewer elements wait in memory
    /// while the waiting elements of all streams exceed their budget. If the history no longer has
    /// the next element, the stream throws `ReaderTooSlow`. It skips no element before that, except
    /// one that this program cannot decode.
    ///
    /// The stream continues if the session moves to another node. It ends when the session or the
    /// server ends, and at once if no session of this reactor has the id.
    ///
    /// - Parameter limit: The maximum number of elements that wait. Default: 256 states.
    public func state(buffer limit: Int = 256) async -> ReactorStream<R.State> {
        await stream(EventKinds(states: true), limit) { { Self.state(in: $0) } }
    }

    /// A part of the state: its current value, then each change. Waits and ends like
    /// ``state(buffer:)``.
    ///
    /// - Parameters:
    ///   - path: The path to the part.
    ///   - limit: The maximum number of elements that wait. Default: 256 values.
    public func state<Part: Equatable & Sendable>(
        _ path: any KeyPath<R.State, Part> & Sendable, buffer limit: Int = 256
    ) async -> ReactorStream<Part> {
        await stream(EventKinds(states: true), limit) {
            var last: Part?
            return { block in
                guard let part = Self.state(in: block)?[keyPath: path], part != last else {
                    return nil
                }
                last = part
                return part
            }
        }
    }

    /// The value of a pulse: first the current one, then one for each assignment, even if equal.
    ///
    /// The stream waits and ends like ``state(buffer:)``. If the database loses history, the stream
    /// repeats the current value.
    ///
    /// - Parameters:
    ///   - path: The pulse, `\.$alertMessage`: a field of the state itself. Another path is a
    ///     programming error.
    ///   - limit: The maximum number of elements that wait. Default: 256 values.
    public func pulse<Value: Sendable>(
        _ path: any KeyPath<R.State, Pulse<Value>> & Sendable, buffer limit: Int = 256
    ) async -> ReactorStream<Value> {
        guard let name = JSON.pulseName(at: path, in: type.initialState),
            let type = Value.self as? any (Decodable & Sendable).Type
        else {
            preconditionFailure(
                "\(path) does not lead to a @Pulse that is a field of \(R.State.self) itself")
        }
        return await stream(EventKinds(pulses: true), pulses: [name], limit) {
            { block in
                let isSnapshot = block.event == "snapshot"
                guard isSnapshot || block.event == name, let data = block.data,
                    let value = isSnapshot ? JSON.members(of: data)?[name] : data
                else { return nil }
                return Self.decode(type, value) as? Value
            }
        }
    }

    /// The activities from now on. The stream waits and ends like ``state(buffer:)``.
    ///
    /// - Parameter limit: The maximum number of elements that wait. Default: 256 activities.
    public func activities(buffer limit: Int = 256) async -> ReactorStream<R.Activity> {
        await stream(EventKinds(activities: true), limit) {
            { $0.data.flatMap { Self.decode(R.Activity.self, $0) } }
        }
    }

    private static func state(in block: RelayBlock) -> R.State? {
        block.data.flatMap { decode(R.State.self, $0) }
    }

    /// Nil for a value that this program cannot decode. The stream leaves it out.
    private static func decode<Value: Decodable>(_ type: Value.Type, _ data: [UInt8]) -> Value? {
        do {
            return try JSON.decode(type, from: data)
        } catch {
            return nil
        }
    }

    /// - Parameter makeDecoder: Makes the function that reads the element of a block, if the block
    ///   has one. One task calls that function, in the order of the blocks.
    private func stream<Element: Sendable>(
        _ kinds: EventKinds, pulses: [String] = [], _ limit: Int,
        _ makeDecoder: @escaping @Sendable () -> (RelayBlock) -> Element?
    ) async -> ReactorStream<Element> {
        let chooser = JointChooser(
            kinds: kinds, pulses: pulses, access: Access(program: nil, reactors: type.names))
        let (readers, id, peers, work) = (server.readers, sessionID, server.peers, server.work)
        let (reader, number) = readers.add { number in
            let reading = RelayReading(
                number, of: id, from: .snapshot, limit: limit, countedBy: work
            ) { chooser.choose($0, $1) }
            return ProgramReader(reading, on: id.owner(of: peers.count), peers)
        }
        let (stream, feed) = ReactorStream<Element>.make(buffer: limit) { _ in reader.wasRead() }
        feed.whenAbandoned { reader.stop() }
        Task { @concurrent in
            let decode = makeDecoder()
            let ending = await reader.run { block in
                guard let element = decode(block) else { return .skipped }
                return feed.push(element) ? .delivered : .abandoned
            }
            readers.remove(number)
            switch ending {
            case .over: feed.finish()
            case .tooSlow: feed.fail()
            }
        }
        await reader.untilOpen()
        return stream
    }
}
