internal import Reactors

struct SessionReaders<State: Sendable, Activity: Sendable> {
    /// Each returns whether its reader still reads and is not behind.
    struct Reader {
        var shown: ((State) -> Bool)?
        var activity: ((Activity) -> Bool)?
        var event: ((RemoteEvent<State, Activity>) -> Bool)?
        var status: ((LinkStatus) -> Bool)?
        var presence: ((Presence) -> Bool)?
        var pulse: PulseReader<State>?
        let finish: () -> Void
    }

    private var readers: [UInt64: Reader] = [:]
    private var lastNumber: UInt64 = 0

    var count: Int { readers.count }

    var wantStates: Bool { readers.values.contains { $0.shown != nil } }

    var wantEvents: Bool { readers.values.contains { $0.event != nil } }

    mutating func add(_ reader: Reader) -> UInt64 {
        lastNumber += 1
        readers[lastNumber] = reader
        return lastNumber
    }

    mutating func remove(_ number: UInt64) { readers[number] = nil }

    mutating func show(_ state: State) { push { $0.shown?(state) } }
    mutating func report(_ status: LinkStatus) { push { $0.status?(status) } }
    mutating func report(_ presence: Presence) { push { $0.presence?(presence) } }
    mutating func report(_ event: RemoteEvent<State, Activity>) { push { $0.event?(event) } }
    mutating func report(_ activity: Activity) { push { $0.activity?(activity) } }

    mutating func assign(_ name: String, _ data: [UInt8]) {
        push { reader in
            guard let pulse = reader.pulse, pulse.name == name else { return nil }
            return pulse.assigned(data)
        }
    }

    /// The assignments before are lost: shows the present values.
    mutating func present(_ state: State) { push { $0.pulse?.present(state) } }

    mutating func finish() {
        for reader in readers.values { reader.finish() }
        readers = [:]
    }

    private mutating func push(_ body: (Reader) -> Bool?) {
        for (number, reader) in readers where body(reader) == false { readers[number] = nil }
    }
}

struct PulseReader<State> {
    let name: String
    let assigned: ([UInt8]) -> Bool
    let present: (State) -> Bool
}
