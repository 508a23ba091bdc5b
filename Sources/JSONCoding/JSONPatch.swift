// RFC 6902 with the array rules of RFC 6901 §4. Undefined members of an operation are ignored (§4).

/// A JSON patch: operations that change a document, all or none of them.
///
/// Source: [RFC 6902](https://www.rfc-editor.org/rfc/rfc6902).
package struct JSONPatch: Sendable, Equatable {
    package enum Operation: Sendable, Equatable {
        case add(JSONPointer, JSONValue)
        case remove(JSONPointer)
        case replace(JSONPointer, JSONValue)
        case move(from: JSONPointer, to: JSONPointer)
        case copy(from: JSONPointer, to: JSONPointer)
        case test(JSONPointer, JSONValue)
    }

    /// An operation that is invalid, or cannot be carried out.
    package struct Failure: Error, Sendable, Equatable {
        package enum Reason: String, Sendable {
            /// It is not an operation of RFC 6902.
            case malformed = "not_an_operation"
            /// The pointer names no part of the document.
            case noSuchPath = "no_such_path"
            /// The value differs from the one that `test` requires.
            case testFailed = "test_failed"
            /// The document would be more than 128 arrays and objects deep.
            case tooDeep = "too_deep"
            /// The patch takes more work, or copies more bytes, than ``JSONPatch/Limits`` permit.
            case tooCostly = "too_costly"
            /// The document would have more values than ``JSONPatch/Limits`` permit.
            case tooManyValues = "too_many_values"
        }

        package var reason: Reason
        /// The index of the operation, from 0. Nil if the patch is not an array.
        package var index: Int?
        /// The pointer that does not fit; also empty if the operation has none.
        package var pointer: String
        /// A phrase for a message.
        package var phrase: String

        /// `operation 2, /a/b: there is no such member`.
        package var sentence: String {
            let place = pointer.isEmpty ? "" : ", \(JSONText.shortened(pointer))"
            return index.map { "operation \($0)\(place): \(phrase)" } ?? phrase
        }
    }

    /// The most that one patch may cost.
    ///
    /// Why: an operation of 30 bytes may move all elements of a long array, and one that copies a
    /// document into itself doubles it.
    package struct Limits: Sendable {
        /// Members and elements that are compared, moved or visited.
        package var steps = 4_000_000
        /// Bytes of JSON that `copy` adds.
        package var copiedBytes = 1 << 20
        /// The values by which a document may grow.
        package var growth = Int.max
        /// Arrays and objects around the document; these and it may be 128 deep together.
        package var outerDepth = 0

        package init() {}
    }

    package var operations: [Operation]

    package init(_ operations: [Operation]) { self.operations = operations }

    /// Reads an array of operations.
    package init(_ value: JSONValue) throws(Failure) {
        guard case .array(let elements) = value else {
            throw Failure(
                reason: .malformed, index: nil, pointer: "", phrase: "a patch must be an array")
        }
        operations = []
        operations.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            operations.append(try Operation(element, at: index))
        }
    }
}

extension JSONPatch.Operation {
    /// - Parameter index: of the operation in its patch.
    init(_ value: JSONValue, at index: Int) throws(JSONPatch.Failure) {
        guard case .object = value else { throw Self.malformed(index, "it is not an object") }
        guard case .string(let name)? = value["op"] else {
            throw Self.malformed(index, "\"op\" is missing or not a string")
        }
        let path = try Self.pointer("path", of: value, index)
        switch name {
        case "add": self = .add(path, try Self.operand(value, index))
        case "remove": self = .remove(path)
        case "replace": self = .replace(path, try Self.operand(value, index))
        case "move": self = .move(from: try Self.pointer("from", of: value, index), to: path)
        case "copy": self = .copy(from: try Self.pointer("from", of: value, index), to: path)
        case "test": self = .test(path, try Self.operand(value, index))
        default:
            throw Self.malformed(index, "there is no operation \"\(JSONText.shortened(name))\"")
        }
    }

    private static func pointer(
        _ member: String, of value: JSONValue, _ index: Int
    ) throws(JSONPatch.Failure) -> JSONPointer {
        guard case .string(let text)? = value[member] else {
            throw malformed(index, "\"\(member)\" is missing or not a string")
        }
        do {
            return try JSONPointer(text)
        } catch {
            throw malformed(index, "\"\(member)\": \(error.reason)")
        }
    }

    private static func operand(_ value: JSONValue, _ index: Int) throws(JSONPatch.Failure)
        -> JSONValue
    {
        guard let operand = value["value"] else { throw malformed(index, "\"value\" is missing") }
        return operand
    }

    private static func malformed(_ index: Int, _ phrase: String) -> JSONPatch.Failure {
        JSONPatch.Failure(reason: .malformed, index: index, pointer: "", phrase: phrase)
    }
}

extension JSONPatch: Codable {
    /// Fails with the place of an invalid operation.
    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer().decode(JSONValue.self)
        do {
            try self.init(value)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.sentence))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(JSONValue.array(operations.map(\.value)))
    }
}

extension JSONPatch.Operation {
    fileprivate var value: JSONValue {
        switch self {
        case .add(let path, let value): Self.value("add", path, ("value", value))
        case .remove(let path): Self.value("remove", path)
        case .replace(let path, let value): Self.value("replace", path, ("value", value))
        case .move(let from, let path):
            Self.value("move", path, ("from", .string(from.description)))
        case .copy(let from, let path):
            Self.value("copy", path, ("from", .string(from.description)))
        case .test(let path, let value): Self.value("test", path, ("value", value))
        }
    }

    private static func value(
        _ name: String, _ path: JSONPointer, _ others: (String, JSONValue)...
    ) -> JSONValue {
        .object(
            [
                .init(key: "op", value: .string(name)),
                .init(key: "path", value: .string(path.description)),
            ] + others.map { .init(key: $0.0, value: $0.1) })
    }
}
