// Why reflection: a type's fields show once, when a reactor is registered, whether all of its
// values can be encoded; a check of each value would cost as much as encoding it. `_forEachField`
// is an SPI of the standard library, verified with 6.3.1. If a toolchain removes it, only this file
// fails to compile.
internal import Reactors
@_spi(Reflection) internal import Swift

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension JSON {
    /// Whether every value of the type can be written and read back: the type contains no
    /// floating-point number and no `Date`, which may have no JSON form, and no value of its own
    /// type, which could nest without limit.
    ///
    /// The result is derived from stored fields, so it may be wrong for a type that encodes other
    /// data. Use it to choose the values to check, not as a guarantee. Returns false for types
    /// whose fields are not visible (classes, existentials, enums with large payloads).
    package static func alwaysEncodes(_ type: any Any.Type) -> Bool {
        alwaysEncodes(type, around: [])
    }

    private static func alwaysEncodes(
        _ type: any Any.Type, around outer: [ObjectIdentifier]
    ) -> Bool {
        // The reflection also reports the kind of each field.
        func boxed<T>(_: T.Type) -> any Any.Type { Box<T>.self }
        return fieldsAlwaysEncode(_openExistential(type, do: boxed), within: outer)
    }

    private struct Box<Value> {
        var value: Value
    }

    private static func alwaysEncodes(
        _ type: any Any.Type, _ kind: _MetadataKind, within outer: [ObjectIdentifier]
    ) -> Bool {
        let id = ObjectIdentifier(type)
        if plain.contains(id) { return true }
        guard !outer.contains(id), outer.count < 64 else { return false }
        let path = outer + [id]
        if let container = type as? any JSONContainer.Type {
            return container.parts.allSatisfy { alwaysEncodes($0, around: path) }
        }
        switch kind {
        case .struct: return fieldsAlwaysEncode(type, within: path)
        // One byte is too small for a floating-point number and for a reference.
        case .enum:
            if size(of: type) <= 1 { return true }
            guard type is any TaggedCodable.Type, let cases = JSONEnumCases.list(of: type) else {
                return false
            }
            return cases.lazy.flatMap(\.parameters).allSatisfy {
                alwaysEncodes($0.type, around: path)
            }
        default: return false
        }
    }

    static func isEnum(_ type: any Any.Type) -> Bool { kind(of: type) == .enum }

    private static func kind(of type: any Any.Type) -> _MetadataKind? {
        func boxed<T>(_: T.Type) -> any Any.Type { Box<T>.self }
        var found: _MetadataKind?
        _ = unsafe _forEachField(of: _openExistential(type, do: boxed)) { _, _, _, kind in
            found = kind
            return true
        }
        return found
    }

    /// The stored properties of a struct, in the order of their declaration; nil for any other
    /// type. One with a wrapper has an underscore before its name, and the wrapper's type.
    static func storedProperties(
        of type: any Any.Type
    ) -> [(name: String, type: any Any.Type)]? {
        guard kind(of: type) == .struct else { return nil }
        var found: [(name: String, type: any Any.Type)] = []
        let sawAll = unsafe _forEachField(of: type) { name, _, field, _ in
            found.append((unsafe String(cString: name), field))
            return true
        }
        return sawAll ? found : nil
    }

    private static func fieldsAlwaysEncode(
        _ type: any Any.Type, within path: [ObjectIdentifier]
    ) -> Bool {
        var allDo = true
        let sawAll = unsafe _forEachField(of: type) { _, _, field, kind in
            allDo = alwaysEncodes(field, kind, within: path)
            return allDo
        }
        return sawAll && allDo
    }

    private static func size(of type: any Any.Type) -> Int {
        func size<T>(_: T.Type) -> Int { MemoryLayout<T>.size }
        return _openExistential(type, do: size)
    }

    private static let plain = Set(
        [
            Bool.self, String.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self,
            Int128.self, UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self,
            UInt128.self, Data.self, URL.self, UUID.self,
        ].map { (type: any Any.Type) in ObjectIdentifier(type) })
}
