/// CRC-32 (ISO 3309), which finds every change of up to 32 bits in a row.
enum Checksum {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in
            value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1
        }
    }

    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        let table = table
        var value: UInt32 = ~0
        for byte in bytes {
            value = table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ value >> 8
        }
        return ~value
    }
}
