package import JSONCoding

/// The JSON of an event.
package enum EventContent: Equatable, Sendable {
    case text([UInt8])
    /// The result of a patch. Why not as text: encoding costs as much as the whole state, and the
    /// machine holds a lock.
    case value(JSONValue)

    package var text: [UInt8] {
        switch self {
        case .text(let bytes): return bytes
        case .value(let value):
            var bytes: [UInt8] = []
            // Invariant: the value was decoded from JSON, so it can be encoded.
            try? JSON.encode(value, into: &bytes)
            return bytes
        }
    }

    /// The content after a patch of RFC 6902: all of its operations, or none.
    ///
    /// - Parameter patch: JSON.
    consuming func patched(by patch: [UInt8]) throws(PatchFailure) -> EventContent {
        do {
            let operations = try JSONPatch(JSON.decode(JSONValue.self, from: patch))
            var value: JSONValue
            switch consume self {
            case .text(let bytes): value = try JSON.decode(JSONValue.self, from: bytes)
            case .value(let known): value = known
            }
            try operations.carryOut(on: &value)
            return .value(value)
        } catch let failure as JSONPatch.Failure {
            throw PatchFailure(reason: failure.sentence)
        } catch {
            throw PatchFailure(reason: "\(error)")
        }
    }

    struct PatchFailure: Error, Equatable {
        let reason: String
    }
}
