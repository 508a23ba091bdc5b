/// The cases of an enum, as its metadata describe them: no code of the enum is run.
///
/// Why unsafe: `CaseIterable` is not synthesised for all enums, and no API has the types of
/// payloads. An enum's descriptor has both, and a case without a payload is stored as its index
/// (all parts of Swift's stable ABI: docs/ABI/TypeMetadata.rst, "Nominal Type Descriptor"). Read
/// once, when a reactor is registered; verified with 6.3.1.
enum JSONEnumCases {
    /// One parameter of a case; the label is empty if it has none.
    struct Parameter {
        let label: String
        let type: any Any.Type
    }

    struct Case {
        let name: String
        let parameters: [Parameter]
    }

    private static let limit = 256
    private typealias AnyType = any Any.Type

    /// All values of an enum without payloads. Empty for other types and for more than 256 cases.
    static func values<Value>(of type: Value.Type) -> [Value] {
        guard MemoryLayout<Value>.size <= 1, let descriptor = unsafe descriptor(of: type) else {
            return []
        }
        // Flags, parent, name, access function and fields, 4 bytes each; the number of cases with a
        // payload (its low 24 bits), and the number of other cases.
        let withPayload = unsafe descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
        let count = unsafe Int(descriptor.load(fromByteOffset: 24, as: UInt32.self))
        guard withPayload == 0, count <= limit else { return [] }
        guard MemoryLayout<Value>.size == 1 else {
            // An enum with one case has size 0.
            return count == 1 ? [unsafe unsafeBitCast((), to: Value.self)] : []
        }
        return (0..<count).map {
            unsafe unsafeBitCast(UInt8(truncatingIfNeeded: $0), to: Value.self)
        }
    }

    /// The cases of an enum of coding keys. (A synthesised one is not `CaseIterable`.)
    static func names<Key: CodingKey>(of type: Key.Type) -> [String] {
        values(of: type).map(\.stringValue)
    }

    /// The cases with the types of their payloads: first those with one, then the others, as
    /// declared. Nil if the type is no enum, has more than 256 cases, or has no such metadata.
    static func list(of type: any Any.Type) -> [Case]? {
        guard let descriptor = unsafe descriptor(of: type),
            let fields = unsafe follow(descriptor + 16)
        else { return nil }
        // Type, superclass, 4 bytes each; kind and the size of a record, 2 bytes each;
        // their number.
        let size = unsafe Int(fields.load(fromByteOffset: 10, as: UInt16.self))
        let count = unsafe Int(fields.load(fromByteOffset: 12, as: UInt32.self))
        guard count <= limit, size >= 12 else { return nil }
        var found: [Case] = []
        for index in 0..<count {
            // Flags, type, name, 4 bytes each.
            let record = unsafe fields + 16 + index * size
            guard let name = unsafe follow(record + 8) else { return nil }
            var parameters: [Parameter] = []
            if let mangled = unsafe follow(record + 4) {
                guard let payload = unsafe resolve(mangled, in: type, descriptor) else {
                    return nil
                }
                parameters = Self.parameters(of: payload)
            }
            let text = unsafe String(cString: name.assumingMemoryBound(to: CChar.self))
            found.append(Case(name: text, parameters: parameters))
        }
        return found
    }

    private static func descriptor(of type: any Any.Type) -> UnsafeRawPointer? {
        guard JSON.isEnum(type) else { return nil }
        // Metadata: its kind, then the descriptor, then the generic arguments.
        return unsafe metadata(of: type).load(
            fromByteOffset: MemoryLayout<Int>.size, as: UnsafeRawPointer.self)
    }

    private static func metadata(of type: any Any.Type) -> UnsafeRawPointer {
        unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
    }

    /// The target of a relative pointer; nil if there is none.
    private static func follow(_ pointer: UnsafeRawPointer) -> UnsafeRawPointer? {
        let offset = unsafe Int(pointer.load(as: Int32.self))
        return unsafe offset == 0 ? nil : pointer + offset
    }

    private static func resolve(
        _ mangled: UnsafeRawPointer, in type: any Any.Type, _ descriptor: UnsafeRawPointer
    ) -> (any Any.Type)? {
        let name = unsafe mangled.assumingMemoryBound(to: UInt8.self)
        // docs/ABI/Mangling.rst, "Symbolic references": 0x01 to 0x17 stand before 4 bytes, 0x18 to
        // 0x1F before a pointer.
        var length = 0
        while case let byte = unsafe name[length], byte != 0 {
            length += byte < 0x18 ? 5 : byte < 0x20 ? 1 + MemoryLayout<Int>.size : 1
        }
        return unsafe _getTypeByMangledNameInContext(
            name, UInt(length), genericContext: descriptor,
            genericArguments: metadata(of: type) + 2 * MemoryLayout<Int>.size)
    }

    /// The elements of a tuple, or the type itself: a payload without a label.
    private static func parameters(of payload: any Any.Type) -> [Parameter] {
        let metadata = unsafe metadata(of: payload)
        let word = MemoryLayout<Int>.size
        // "Tuple Metadata": kind, count, labels with a space after each, then types and offsets.
        guard unsafe metadata.load(as: Int.self) == 0x301 else {
            return [Parameter(label: "", type: payload)]
        }
        let count = unsafe metadata.load(fromByteOffset: word, as: Int.self)
        let text = unsafe metadata.load(fromByteOffset: 2 * word, as: UnsafePointer<CChar>?.self)
        let labels = unsafe text.map { unsafe String(cString: $0) } ?? ""
        let parts = labels.split(separator: " ", omittingEmptySubsequences: false)
        return (0..<count).map { index in
            Parameter(
                label: index < parts.count ? String(parts[index]) : "",
                type: unsafe metadata.load(
                    fromByteOffset: (3 + 2 * index) * word, as: AnyType.self))
        }
    }
}
