/// The cases of the enum of coding keys that Swift synthesises.
///
/// Why unsafe: such an enum is not `CaseIterable`, and no API lists its cases. Its descriptor has
/// their number; a case without a payload is stored as its index (both are part of Swift's stable
/// ABI: docs/ABI/TypeMetadata.rst, "Nominal Type Descriptor"). Read once, when a reactor is
/// registered.
enum JSONCaseKeys {
    /// Empty unless the type is an enum without payloads and with at most 256 cases.
    static func names<Key: CodingKey>(of type: Key.Type) -> [String] {
        guard let count = caseCount(of: type) else { return [] }
        guard MemoryLayout<Key>.size == 1 else {
            // An enum with one case has size 0.
            return MemoryLayout<Key>.size == 0 && count == 1
                ? [unsafe unsafeBitCast((), to: Key.self).stringValue] : []
        }
        return (0..<min(count, 256)).map {
            unsafe unsafeBitCast(UInt8(truncatingIfNeeded: $0), to: Key.self).stringValue
        }
    }

    private static func caseCount<Key>(of type: Key.Type) -> Int? {
        guard MemoryLayout<Key>.size <= 1, JSON.isEnum(type) else { return nil }
        // Metadata: its kind, then the descriptor. The descriptor: flags, parent, name, access
        // function and fields, 4 bytes each; the number of cases with a payload (its low 24 bits),
        // and the number of other cases.
        let metadata = unsafe unsafeBitCast(
            type as any Any.Type, to: UnsafePointer<UnsafeRawPointer>.self)
        let descriptor = unsafe metadata[1]
        let withPayload = unsafe descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
        guard withPayload == 0 else { return nil }
        return unsafe Int(descriptor.load(fromByteOffset: 24, as: UInt32.self))
    }
}
