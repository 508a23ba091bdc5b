internal import JSONCoding

/// A send that did not succeed.
public struct RefusedSend: Hashable, Sendable {
    /// The id of its session.
    public let session: String
    /// ``SendFailure/refused(_:)``, ``SendFailure/positionChanged(_:)`` or ``SendFailure/inDoubt``.
    public let failure: SendFailure
    /// Its actions as JSON.
    public let actions: [String]
    let ticket: UInt64

    /// Its actions.
    ///
    /// - Throws: `undecodable` if one of them is no `Action`.
    public func actions<Action: Decodable>(
        as type: Action.Type
    ) throws(ClientFailure) -> [Action] {
        try actions.map { text throws(ClientFailure) in
            do throws(JSONRefusal) {
                return try JSON.decode(type, from: Array(text.utf8))
            } catch {
                throw .undecodable(error.sentence)
            }
        }
    }
}
