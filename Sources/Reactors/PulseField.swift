/// Receives a pulse's value with its static type, without an existential box around it.
@usableFromInline
package protocol PulseValueVisitor {
    mutating func visit<Value: Encodable>(_ value: Value)
}

/// One pulse of a state: its name, its mark, and its value. Found by ``PulseFields``.
///
/// Reads at an offset, which needs `unsafe` in three places below. Why not a key path: a key path
/// to a pulse copies its value to read its mark, and a key path that is appended to one made by
/// reflection traps when it is read (verified with 6.3.1: append `\.mark` to a path of
/// `_forEachFieldWithKeyPath`, and read it).
@usableFromInline
package struct PulseField<State>: Sendable {
    /// The name on the wire: its coding key, once known; ``property`` until then.
    package private(set) var name: String

    /// The name in Swift without the wrapper's underscore: `alertMessage`.
    package let property: String

    package let location: PulseLocation<State>

    // `nil` for a value that is not Encodable.
    private let reader: (any PulseReading<State>)?

    init(name: String, markOffset: Int, reader: (any PulseReading<State>)?) {
        self.name = name
        property = name
        location = PulseLocation(markOffset: markOffset)
        self.reader = reader
    }

    package var valueType: (any Any.Type)? { reader?.valueType }

    package func named(_ key: String) -> PulseField {
        var field = self
        field.name = key
        return field
    }

    /// Whether the value can be sent over a wire. A pulse that cannot is refused at registration.
    package var isEncodable: Bool { reader != nil }

    package func mark(in state: State) -> PulseMark { location.mark(in: state) }

    /// Counts an assignment of the pulse's current value, for a state from outside (decoded), whose
    /// pulses could not count their assignments.
    package func countAssignment(in state: inout State) {
        unsafe withUnsafeMutableBytes(of: &state) { bytes in
            var mark = unsafe bytes.load(fromByteOffset: location.markOffset, as: PulseMark.self)
            mark.count &+= 1
            unsafe bytes.storeBytes(of: mark, toByteOffset: location.markOffset, as: PulseMark.self)
        }
    }

    /// Passes the pulse's value in this state to `visitor`. Requires ``isEncodable``.
    @usableFromInline
    package func withValue(in state: State, _ visitor: inout some PulseValueVisitor) {
        guard let reader else { preconditionFailure("pulse \(name) is not Encodable") }
        reader.read(state, &visitor)
    }
}

/// The location of a pulse's mark: the only part of a pulse that every mutation reads.
///
/// Why a separate type: copying a whole field counts references.
@usableFromInline
package struct PulseLocation<State>: Sendable {
    // Invariant: the offset is that of a stored field of exactly this type in a `State`, as
    // returned by `MemoryLayout.offset(of:)`.
    @usableFromInline
    let markOffset: Int

    init(markOffset: Int) { self.markOffset = markOffset }

    @inlinable
    package func mark(in state: State) -> PulseMark {
        unsafe withUnsafeBytes(of: state) { bytes in
            unsafe bytes.load(fromByteOffset: markOffset, as: PulseMark.self)
        }
    }
}

/// Reads one pulse's value: only the conforming type knows the value's type.
protocol PulseReading<State>: Sendable {
    associatedtype State
    var valueType: any Any.Type { get }
    func read(_ state: State, _ visitor: inout some PulseValueVisitor)
}

struct PulseReader<State, Value: Encodable>: PulseReading {
    // Invariant: as in `PulseField`.
    let offset: Int

    var valueType: any Any.Type { Value.self }

    func read(_ state: State, _ visitor: inout some PulseValueVisitor) {
        unsafe withUnsafePointer(to: state) { pointer in
            let field = unsafe UnsafeRawPointer(pointer).advanced(by: offset)
            unsafe visitor.visit(field.assumingMemoryBound(to: Value.self).pointee)
        }
    }
}
