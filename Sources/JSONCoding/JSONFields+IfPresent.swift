// The protocol's default implementations look up a key three times: presence, null and value.

extension JSONFields {
    func decodeIfPresent(_: Bool.Type, forKey key: Key) throws -> Bool? {
        guard let field = try presentField(key) else { return nil }
        return try document.bool(at: field)
    }

    func decodeIfPresent(_: String.Type, forKey key: Key) throws -> String? {
        guard let field = try presentField(key) else { return nil }
        return try document.string(at: field)
    }

    func decodeIfPresent(_: Double.Type, forKey key: Key) throws -> Double? {
        guard let field = try presentField(key) else { return nil }
        return try document.double(at: field)
    }

    func decodeIfPresent(_: Float.Type, forKey key: Key) throws -> Float? {
        guard let field = try presentField(key) else { return nil }
        return try document.float(at: field)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
        guard let field = try presentField(key) else { return nil }
        return try document.integer(type, at: field)
    }

    func decodeIfPresent<Value: Decodable>(
        _ type: Value.Type, forKey key: Key
    ) throws -> Value? {
        guard let field = try presentField(key) else { return nil }
        return try document.value(type, at: field)
    }
}
