// Design: each operation changes the document in place. Only the arrays and objects on its path are
// copied, and only if another value shares them.

extension JSONPatch {
    /// Carries out all operations. After a failure the document is unchanged.
    ///
    /// - Returns: the result of ``carryOut(on:within:)``.
    ///
    /// Numbers that `test` compares are equal if they have the same value (RFC 6902 §4.6), and the
    /// order of members does not matter.
    @discardableResult
    package func apply(
        to document: inout JSONValue, within limits: Limits = Limits()
    ) throws(Failure) -> Result {
        // A single operation that fails has changed nothing, except one that moves a value.
        if operations.count == 1, !operations[0].moves, limits.growth == .max {
            return try carryOut(on: &document, within: limits)
        }
        var changed = document
        let result = try carryOut(on: &changed, within: limits)
        document = changed
        return result
    }

    /// Carries out the operations. After a failure, some of them have been carried out.
    ///
    /// Why not always ``apply(to:within:)``: it copies the parts that change.
    @discardableResult
    package func carryOut(
        on document: inout JSONValue, within limits: Limits = Limits()
    ) throws(Failure) -> Result {
        var (editing, effective) = (JSONEditing(limits), JSONPatch([]))
        for (index, operation) in operations.enumerated() {
            do throws(JSONEditing.Fault) {
                if let change = try editing.carryOut(operation, on: &document) {
                    effective.operations.append(change)
                }
            } catch {
                throw Failure(
                    reason: error.reason, index: index, pointer: error.pointer?.description ?? "",
                    phrase: error.phrase)
            }
        }
        guard editing.growth <= limits.growth else {
            throw Failure(
                reason: .tooManyValues, index: nil, pointer: "",
                phrase: "the document would have too many values")
        }
        return Result(effective: effective, growth: editing.growth, steps: editing.steps)
    }

    package struct Result: Sendable {
        /// The operations that have the same effect: without those that only test, and with the
        /// value in place of a copy.
        package var effective: JSONPatch
        /// The values that the document has more than before: members, elements and itself.
        package var growth: Int
        /// Members and elements that were compared, moved or visited.
        package var steps: Int
    }
}

extension JSONPatch.Operation {
    fileprivate var moves: Bool { if case .move = self { true } else { false } }
}

/// The operations of one patch on one document, and their cost so far.
package struct JSONEditing {
    package struct Fault: Error {
        package var reason: JSONPatch.Failure.Reason
        package var phrase: String
        package var pointer: JSONPointer?
    }

    let limits: JSONPatch.Limits
    /// Members and elements that were compared, moved or visited.
    package internal(set) var steps = 0
    private var copiedBytes = 0
    /// The values that the document has more than before.
    var growth = 0

    package init(_ limits: JSONPatch.Limits) { self.limits = limits }

    /// - Returns: an operation of the same effect; nil if the operation changes nothing.
    mutating func carryOut(
        _ operation: JSONPatch.Operation, on document: inout JSONValue
    ) throws(Fault) -> JSONPatch.Operation? {
        switch operation {
        case .add(let path, let value): try add(value, at: path, to: &document)
        case .remove(let path): _ = try remove(path, from: &document)
        case .replace(let path, let value):
            try admit(value, at: path)
            try edit(path, of: &document) { (editing, place) throws(Fault) in
                try editing.drop(place)
                place = value
            }
        case .move(let from, let path): try move(from, to: path, in: &document)
        case .copy(let from, let path):
            return .add(path, try copy(from, to: path, in: &document))
        case .test(let path, let value):
            guard try find(path, in: document).isSame(as: value) else {
                throw Fault(
                    reason: .testFailed, phrase: "the value is different", pointer: path)
            }
            return nil
        }
        return operation
    }

    /// The part of the document that the pointer names. Copies nothing.
    package mutating func find(
        _ path: JSONPointer, in document: JSONValue
    ) throws(Fault) -> JSONValue {
        var value = document
        do throws(Fault) {
            for token in path.tokens {
                switch value {
                case .object(let members):
                    guard let index = try index(of: token, in: members) else {
                        throw Self.noMember
                    }
                    value = members[index].value
                case .array(let elements):
                    value = elements[try Self.index(token, below: elements.count)]
                default: throw Self.noContainer
                }
            }
            return value
        } catch {
            throw Fault(reason: error.reason, phrase: error.phrase, pointer: path)
        }
    }

    /// Calls `act` with the part of the document that the pointer names.
    package mutating func edit<Result>(
        _ path: JSONPointer, of document: inout JSONValue,
        _ act: (inout JSONEditing, inout JSONValue) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        do throws(Fault) {
            return try descend(path.tokens[...], into: &document, act)
        } catch {
            throw Fault(
                reason: error.reason, phrase: error.phrase, pointer: error.pointer ?? path)
        }
    }

    private mutating func descend<Result>(
        _ tokens: ArraySlice<String>, into value: inout JSONValue,
        _ act: (inout JSONEditing, inout JSONValue) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        guard let token = tokens.first else { return try act(&self, &value) }
        if var members = value.takeMembers() {
            defer { value = .object(members) }
            guard let index = try index(of: token, in: members) else { throw Self.noMember }
            return try descend(tokens.dropFirst(), into: &members[index].value, act)
        }
        guard var elements = value.takeElements() else { throw Self.noContainer }
        defer { value = .array(elements) }
        let index = try Self.index(token, below: elements.count)
        return try descend(tokens.dropFirst(), into: &elements[index], act)
    }

    // MARK: The operations

    private mutating func add(
        _ value: JSONValue, at path: JSONPointer, to document: inout JSONValue
    ) throws(Fault) {
        try admit(value, at: path)
        guard let last = path.tokens.last else {
            try drop(document)
            return document = value
        }
        try editContainer(of: path, in: &document) { (editing, place) throws(Fault) in
            if var members = place.takeMembers() {
                defer { place = .object(members) }
                if let index = try editing.index(of: last, in: members) {
                    try editing.drop(members[index].value)
                    members[index].value = value
                } else {
                    members.append(.init(key: last, value: value))
                }
                return
            }
            guard var elements = place.takeElements() else { throw Self.noContainer }
            defer { place = .array(elements) }
            let index = last == "-" ? elements.count : try Self.index(last, upTo: elements)
            try editing.count(elements.count - index)
            elements.insert(value, at: index)
        }
    }

    private mutating func remove(
        _ path: JSONPointer, from document: inout JSONValue
    ) throws(Fault) -> JSONValue {
        guard let last = path.tokens.last else {
            throw Fault(
                reason: .noSuchPath, phrase: "the whole document can only be replaced",
                pointer: path)
        }
        let removed = try editContainer(of: path, in: &document) { (editing, place) throws(Fault) in
            if var members = place.takeMembers() {
                defer { place = .object(members) }
                guard let index = try editing.index(of: last, in: members) else {
                    throw Self.noMember
                }
                try editing.count(members.count - index)
                return members.remove(at: index).value
            }
            guard var elements = place.takeElements() else { throw Self.noContainer }
            defer { place = .array(elements) }
            let index = try Self.index(last, below: elements.count)
            try editing.count(elements.count - index)
            return elements.remove(at: index)
        }
        try drop(removed)
        return removed
    }

    private mutating func move(
        _ from: JSONPointer, to path: JSONPointer, in document: inout JSONValue
    ) throws(Fault) {
        // RFC 6902 §4.4: a value cannot be moved into itself.
        guard from != path else {
            _ = try find(from, in: document)
            return
        }
        let isInside =
            path.tokens.count > from.tokens.count
            && JSONPointer(tokens: Array(path.tokens.prefix(from.tokens.count))) == from
        guard !isInside else {
            throw Fault(
                reason: .noSuchPath, phrase: "a value can't be moved into itself", pointer: path)
        }
        try add(try remove(from, from: &document), at: path, to: &document)
    }

    /// - Returns: the copied value.
    private mutating func copy(
        _ from: JSONPointer, to path: JSONPointer, in document: inout JSONValue
    ) throws(Fault) -> JSONValue {
        let value = try find(from, in: document)
        copiedBytes += try measure(value).bytes
        guard copiedBytes <= limits.copiedBytes else {
            throw Fault(
                reason: .tooCostly,
                phrase: "the patch copies more than \(limits.copiedBytes) bytes", pointer: from)
        }
        try add(value, at: path, to: &document)
        return value
    }

    /// Calls `act` with the array or object that has, or will have, the part.
    private mutating func editContainer<Result>(
        of path: JSONPointer, in document: inout JSONValue,
        _ act: (inout JSONEditing, inout JSONValue) throws(Fault) -> Result
    ) throws(Fault) -> Result {
        do throws(Fault) {
            return try descend(path.tokens.dropLast(), into: &document, act)
        } catch {
            throw Fault(
                reason: error.reason, phrase: error.phrase, pointer: error.pointer ?? path)
        }
    }
}

// A container is taken out while it changes: with two references to it, each change would copy it.
extension JSONValue {
    fileprivate mutating func takeMembers() -> [Member]? {
        guard case .object(let members) = self else { return nil }
        self = .null
        return members
    }

    /// Appends to a text; leaves any other value as it is.
    package mutating func append(_ more: String) {
        guard var text = takeText() else { return }
        text += more
        self = .string(text)
    }

    private mutating func takeText() -> String? {
        guard case .string(let text) = self else { return nil }
        self = .null
        return text
    }

    fileprivate mutating func takeElements() -> [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        self = .null
        return elements
    }
}
