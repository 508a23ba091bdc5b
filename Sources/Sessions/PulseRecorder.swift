internal import Feeds
internal import JSONCoding
public import Reactors

/// The pulses of one session's state. It finds the pulses that were assigned since the last call.
@usableFromInline
struct PulseRecorder<State> {
    @usableFromInline
    let fields: [PulseField<State>]
    /// The locations of `fields`, in their order.
    @usableFromInline
    let locations: [PulseLocation<State>]
    /// The marks after the newest version, in the order of `fields`.
    @usableFromInline
    var marks: [PulseMark] = []
    /// The buffer in which pulses are encoded; its capacity is kept.
    private var scratch: [UInt8] = []

    init(_ fields: [PulseField<State>]) {
        self.fields = fields
        locations = fields.map(\.location)
    }

    @inlinable
    var isEmpty: Bool { locations.isEmpty }

    /// Records later assignments only: the values of this state are no events.
    mutating func look(at state: State) {
        marks = fields.map { $0.mark(in: state) }
    }

    /// Adds an event to the newest record for each pulse that was assigned since the last look.
    @inlinable
    mutating func record(_ state: State, in session: Session) {
        // Why not a loop over `indices`: unspecialised, they are a collection of their own.
        var index = 0
        while index < locations.count {
            let mark = locations[index].mark(in: state)
            if mark.isAssignment(since: marks[index]) {
                var encoding = PulseEncoding(out: takeScratch())
                fields[index].withValue(in: state, &encoding)
                enter(index, encoding, in: session)
            }
            marks[index] = mark
            index += 1
        }
    }

    @usableFromInline
    mutating func enter(_ index: Int, _ encoding: PulseEncoding, in session: Session) {
        if let failure = encoding.failure {
            session.refuse(.notEncodable("the pulse \(fields[index].name)", failure))
        } else {
            session.record(.pulse(index), encoding.out)
        }
        scratch = encoding.out
    }

    /// Appends `{"<pulse>":<value>,…}` of the chosen pulses.
    func encode(_ chosen: UInt64, of state: State, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "{"))
        var isFirst = true
        for (index, pulse) in fields.enumerated() where chosen & (1 << UInt64(index)) != 0 {
            if !isFirst { out.append(UInt8(ascii: ",")) }
            isFirst = false
            JSON.appendString(pulse.name, to: &out)
            out.append(UInt8(ascii: ":"))
            var encoding = PulseEncoding(out: [])
            pulse.withValue(in: state, &encoding)
            out.append(contentsOf: encoding.failure == nil ? encoding.out : EventFramer.null)
        }
        out.append(UInt8(ascii: "}"))
    }

    /// Counts an assignment of each pulse that an encoded state names.
    func countAssignments(in state: inout State, of encoded: [UInt8]) {
        for field in fields {
            guard JSON.slice(JSONPointer(tokens: [field.name]), of: encoded) != nil else {
                continue
            }
            field.countAssignment(in: &state)
        }
    }

    @usableFromInline
    mutating func takeScratch() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &scratch)
        bytes.removeAll(keepingCapacity: bytes.capacity <= 4_096)
        return bytes
    }
}

/// Encodes the value of a pulse.
@usableFromInline
struct PulseEncoding: PulseValueVisitor {
    var out: [UInt8]
    var failure: JSONEncodingFailure?

    @usableFromInline
    init(out: [UInt8]) { self.out = out }

    @usableFromInline
    mutating func visit<Value: Encodable>(_ value: borrowing Value) {
        do {
            try JSON.encode(copy value, into: &out)
        } catch {
            failure = error
        }
    }
}
