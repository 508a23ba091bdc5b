/// The parameters of a statement, in PostgreSQL's binary form.
struct Parameters {
    private(set) var bytes: [UInt8] = []
    private(set) var types: [UInt32] = []
    /// Where each parameter is in ``bytes``; nil: NULL.
    private(set) var places: [(offset: Int, count: Int)?] = []

    mutating func add(_ value: Int64) {
        add(type: 20) { $0.append(bigEndian: value) }
    }

    mutating func add(_ value: UInt64) { add(Int64(clamping: value)) }

    mutating func add(_ value: String?) {
        guard let value else {
            types.append(25)
            return places.append(nil)
        }
        add(type: 25) { $0.append(contentsOf: value.utf8) }
    }

    mutating func add(_ values: [Int64]) {
        add(arrayOf: 20, type: 1016, values.count, hasNull: false) { bytes in
            for value in values {
                bytes.append(bigEndian: 8 as Int32)
                bytes.append(bigEndian: value)
            }
        }
    }

    mutating func add(_ values: [Int64?]) {
        add(arrayOf: 20, type: 1016, values.count, hasNull: true) { bytes in
            for value in values {
                bytes.append(bigEndian: (value == nil ? -1 : 8) as Int32)
                if let value { bytes.append(bigEndian: value) }
            }
        }
    }

    mutating func add(_ values: [String?]) {
        add(arrayOf: 25, type: 1009, values.count, hasNull: values.contains(nil)) { bytes in
            for value in values {
                bytes.append(bigEndian: Int32(value?.utf8.count ?? -1))
                if let value { bytes.append(contentsOf: value.utf8) }
            }
        }
    }

    mutating func add(_ values: [[UInt8]]) {
        add(arrayOf: 17, type: 1001, values.count, hasNull: false) { bytes in
            for value in values {
                bytes.append(bigEndian: Int32(value.count))
                bytes += value
            }
        }
    }

    private mutating func add(type: UInt32, _ write: (inout [UInt8]) -> Void) {
        types.append(type)
        let start = bytes.count
        write(&bytes)
        places.append((start, bytes.count - start))
    }

    private mutating func add(
        arrayOf element: UInt32, type: UInt32, _ count: Int, hasNull: Bool,
        _ write: (inout [UInt8]) -> Void
    ) {
        add(type: type) { bytes in
            bytes.append(bigEndian: (count == 0 ? 0 : 1) as Int32)
            bytes.append(bigEndian: (hasNull ? 1 : 0) as Int32)
            bytes.append(bigEndian: element)
            guard count > 0 else { return }
            bytes.append(bigEndian: Int32(count))
            bytes.append(bigEndian: 1 as Int32)
            write(&bytes)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        var shift = value.bitWidth - 8
        while shift >= 0 {
            append(UInt8(truncatingIfNeeded: value >> shift))
            shift -= 8
        }
    }
}
