/// Satisfies the requirements of a keyed container for concrete types (see ``JSONScalar``).
protocol JSONKeyedReading: KeyedDecodingContainerProtocol {
    func scalar<Value: JSONScalar>(_ type: Value.Type, _ key: Key) throws -> Value
    /// Nil for a field that is missing or null. The standard library's defaults look a key up three
    /// times: for its presence, for null and for its value.
    func scalarIfPresent<Value: JSONScalar>(_ type: Value.Type, _ key: Key) throws -> Value?
}

// Inlined, because each call would look up types at run time (250 instructions).

extension JSONKeyedReading {
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try scalar(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try scalar(type, key) }

    @inline(__always) func decodeIfPresent(_: Bool.Type, forKey key: Key) throws -> Bool? {
        try scalarIfPresent(Bool.self, key)
    }

    @inline(__always) func decodeIfPresent(_: String.Type, forKey key: Key) throws -> String? {
        try scalarIfPresent(String.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Double.Type, forKey key: Key) throws -> Double? {
        try scalarIfPresent(Double.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Float.Type, forKey key: Key) throws -> Float? {
        try scalarIfPresent(Float.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Int.Type, forKey key: Key) throws -> Int? {
        try scalarIfPresent(Int.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Int8.Type, forKey key: Key) throws -> Int8? {
        try scalarIfPresent(Int8.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Int16.Type, forKey key: Key) throws -> Int16? {
        try scalarIfPresent(Int16.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Int32.Type, forKey key: Key) throws -> Int32? {
        try scalarIfPresent(Int32.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Int64.Type, forKey key: Key) throws -> Int64? {
        try scalarIfPresent(Int64.self, key)
    }

    @inline(__always) func decodeIfPresent(_: Int128.Type, forKey key: Key) throws -> Int128? {
        try scalarIfPresent(Int128.self, key)
    }

    @inline(__always) func decodeIfPresent(_: UInt.Type, forKey key: Key) throws -> UInt? {
        try scalarIfPresent(UInt.self, key)
    }

    @inline(__always) func decodeIfPresent(_: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try scalarIfPresent(UInt8.self, key)
    }

    @inline(__always) func decodeIfPresent(_: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try scalarIfPresent(UInt16.self, key)
    }

    @inline(__always) func decodeIfPresent(_: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try scalarIfPresent(UInt32.self, key)
    }

    @inline(__always) func decodeIfPresent(_: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try scalarIfPresent(UInt64.self, key)
    }

    @inline(__always) func decodeIfPresent(_: UInt128.Type, forKey key: Key) throws -> UInt128? {
        try scalarIfPresent(UInt128.self, key)
    }
}
