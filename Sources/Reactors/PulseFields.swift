// Why reflection: a property wrapper cannot register itself, and this project defines no macros.
// Done once, when a reactor is registered, never while one runs (`Mirror` on a state takes about 5
// µs). `_forEachFieldWithKeyPath` is an SPI of the standard library, verified with 6.3.1. If a
// toolchain removes it, only this file fails to compile.
@_spi(Reflection) import Swift

package enum PulseFields {
    /// All `@Pulse` fields of a struct, in the order of their declaration.
    ///
    /// Only its own fields: a pulse inside the value of a field is not found, and refused where the
    /// reactor is hosted. A state that is not a struct has none.
    package static func discover<State>(_ state: State.Type) -> [PulseField<State>] {
        var fields: [PulseField<State>] = []
        unsafe _forEachFieldWithKeyPath(of: state) { name, path in
            if let type = Swift.type(of: path).valueType as? any PulseType.Type {
                let label = unsafe String(cString: name)
                fields.append(type.field(named: label.withoutUnderscore, at: path))
            }
            return true
        }
        return fields
    }
}

extension String {
    // The compiler stores `@Pulse var x` as `_x`. A plain `var x: Pulse<T>` has no underscore.
    fileprivate var withoutUnderscore: String { hasPrefix("_") ? String(dropFirst()) : self }
}

/// A pulse of any value type: in JSON it looks like its value.
package protocol PulseShape {
    static var valueShape: any Any.Type { get }

    var shapeValue: Any { get }

    /// Distinguishes this pulse from every other one.
    var shapeMark: PulseMark { get }
}

extension Pulse: PulseShape {
    package static var valueShape: any Any.Type { Value.self }

    package var shapeValue: Any { stored }

    package var shapeMark: PulseMark { mark }
}

private protocol PulseType {
    static func field<State>(named: String, at path: PartialKeyPath<State>) -> PulseField<State>
}

extension Pulse: PulseType {
    fileprivate static func field<State>(
        named name: String, at path: PartialKeyPath<State>
    ) -> PulseField<State> {
        guard
            let pulse = MemoryLayout<State>.offset(of: path),
            let value = MemoryLayout<Pulse>.offset(of: \.stored),
            let mark = MemoryLayout<Pulse>.offset(of: \.mark)
        else { preconditionFailure("a stored field has an offset") }
        return PulseField(
            name: name,
            markOffset: pulse + mark,
            reader: (Value.self as? any Encodable.Type).map { type in
                Self.reader(of: type, in: State.self, at: pulse + value)
            })
    }

    // `Value` equals `Encoded`; the cast of the type lost this information.
    private static func reader<State, Encoded: Encodable>(
        of type: Encoded.Type, in state: State.Type, at offset: Int
    ) -> any PulseReading<State> {
        precondition(Encoded.self == Value.self)
        return PulseReader<State, Encoded>(offset: offset)
    }
}
