// A pulse is encoded as its bare value: `{"alertMessage":"x"}`, never `{"value":…,"count":…}`.
// Restoring a state is not an assignment, so a decoded pulse has count 0 and a new lineage.

extension Pulse: Encodable where Value: Encodable {
    /// Writes the bare value.
    @inlinable
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(stored)
    }
}

extension Pulse: Decodable where Value: Decodable {
    /// Reads the bare value; the pulse counts as never assigned.
    @inlinable
    public init(from decoder: any Decoder) throws {
        self.init(wrappedValue: try decoder.singleValueContainer().decode(Value.self))
    }
}

extension KeyedDecodingContainer {
    /// Reads a pulse of an optional; a missing key is `nil`, as for a plain optional field.
    ///
    /// The code that Swift synthesises for a state picks this overload, because it is more specific
    /// than the container's own, which would throw `keyNotFound`.
    @inlinable
    public func decode<Wrapped: Decodable>(
        _ type: Pulse<Wrapped?>.Type, forKey key: Key
    ) throws -> Pulse<Wrapped?> {
        Pulse(wrappedValue: try decodeIfPresent(Wrapped.self, forKey: key))
    }
}
