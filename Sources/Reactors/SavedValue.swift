/// A state or a mutation as it was saved, perhaps by an earlier form of its type.
///
/// ```swift
/// static let stateVersion = 2
///
/// static func migrate(state saved: SavedValue) throws -> State {
///     let old = try saved.decode(StateOfVersion1.self)
///     return State(names: [old.name])
/// }
/// ```
public struct SavedValue {
    /// The reactor's `stateVersion` when it was saved.
    public let stateVersion: Int

    private let decoder: any SavedValueDecoder

    package init(stateVersion: Int, decoder: any SavedValueDecoder) {
        self.stateVersion = stateVersion
        self.decoder = decoder
    }

    /// Decodes it as a value of this type.
    ///
    /// - Throws: the error of decoding; its message names the position in the value.
    public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decoder.decode(type)
    }
}

/// Decodes one saved value, in the form of the code that saved it. This module has no coder.
package protocol SavedValueDecoder {
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value
}
