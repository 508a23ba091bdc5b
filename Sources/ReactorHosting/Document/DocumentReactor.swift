internal import JSONCoding
internal import Reactors
internal import Sessions

/// A JSON document that its clients change; see ``Hosted/document(_:)``.
///
/// A mutation has equivalent operations without tests and copies: a replay need not test again, and
/// the meters of mutations count the bytes that a copy adds.
struct DocumentReactor: MeteredReactor {
    enum Action: TaggedCodable, Sendable {
        case set(value: JSONValue)
        case patch(operations: JSONPatch)
        case append(path: Pointer, text: String)
        case emit(name: String, data: JSONValue?)
    }

    enum Mutation: TaggedCodable, Sendable {
        case set(value: JSONValue)
        case patch(operations: JSONPatch)
        case append(path: Pointer, text: String)
        case emit(name: String, data: JSONValue?)
    }

    struct State: Codable, Sendable {
        var value: JSONValue
        @Pulse var emitted: Emitted?
        /// The number of values in ``value``; nil if nothing has counted them.
        var count: Int?

        private enum CodingKeys: String, CodingKey { case value, emitted }
    }

    struct Emitted: Codable, Sendable {
        var name: String
        var data: JSONValue
    }

    /// The members and elements of a document.
    ///
    /// Why a bound besides `--state-limit`: an element may take 40 bytes in memory and two as JSON,
    /// and each action may have to search or move all of them.
    static let valueLimit = 100_000
    /// The members and elements that the actions of one request may visit, move or copy: about
    /// 20 ms, and as much again when the mutations are reduced.
    static let stepLimit = 1_000_000

    let initialState: State
    let work = RequestWork()

    init(value: JSONValue) { initialState = State(value: value, emitted: nil) }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .set(let value):
            let count = Self.count(value)
            return count <= Self.valueLimit
                ? .just(.set(value: value)) : Self.refuse(.tooManyValues, Self.tooMany)
        case .patch(let patch): return mutate(state, patch)
        case .append(let path, let text):
            return fault(of: path, in: state.value) ?? .just(.append(path: path, text: text))
        case .emit(let name, let data): return .just(.emit(name: name, data: data))
        }
    }

    private func mutate(_ state: State, _ patch: JSONPatch) -> Effect<Mutation> {
        var value = state.value
        do throws(JSONPatch.Failure) {
            let result = try patch.apply(to: &value, within: limits(for: state))
            work.count(result.steps)
            guard !result.effective.operations.isEmpty else { return .none }
            return .just(.patch(operations: result.effective))
        } catch {
            let sentence = error.reason == .tooManyValues ? Self.tooMany : error.sentence
            return Self.refuse(error.reason, sentence)
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .set(let value): (state.value, state.count) = (value, Self.count(value))
        case .patch(let patch):
            let before = state.count ?? Self.count(state.value)
            // `mutate` has already carried it out on a copy.
            let result = try? patch.carryOut(on: &state.value, within: .init())
            state.count = result.map { before + $0.growth }
        case .append(let path, let text):
            var editing = JSONEditing(.init())
            try? editing.edit(path.pointer, of: &state.value) {
                (_, place) throws(JSONEditing.Fault) in
                place.append(text)
            }
        case .emit(let name, let data):
            state.emitted = Emitted(name: name, data: data ?? .null)
        }
    }

    // MARK: Limits and refusals

    private static let tooMany = "a document has at most \(valueLimit) members and elements"

    private func limits(for state: State) -> JSONPatch.Limits {
        let count = state.count ?? Self.count(state.value)
        // Of the arrays and objects that the patch changes a copy is made, which may be refused.
        work.count(count / 4, isRepeated: false)
        var limits = limits
        // The state has the document as a member.
        limits.outerDepth = 1
        limits.growth = Self.valueLimit - count
        return limits
    }

    /// The steps that the request has left.
    private var limits: JSONPatch.Limits {
        var limits = JSONPatch.Limits()
        limits.steps = Self.stepLimit - work.steps
        return limits
    }

    private static func count(_ value: JSONValue) -> Int {
        var editing = JSONEditing(.init())
        return (try? editing.measure(value).values) ?? .max
    }

    /// Why a text cannot be appended; nil if it can.
    private func fault(of path: Pointer, in value: JSONValue) -> Effect<Mutation>? {
        var editing = JSONEditing(limits)
        defer { work.count(editing.steps) }
        do throws(JSONEditing.Fault) {
            if case .string = try editing.find(path.pointer, in: value) { return nil }
            return .refuse("not_a_text", "\(path.place): the value is not a text.")
        } catch {
            return Self.refuse(error.reason, "\(path.place): \(error.phrase)")
        }
    }

    private static func refuse(
        _ reason: JSONPatch.Failure.Reason, _ sentence: String
    ) -> Effect<Mutation> {
        .refuse(reason.rawValue, sentence + ".")
    }
}

extension DocumentReactor {
    /// A JSON pointer, as its text.
    struct Pointer: Codable, Sendable {
        let pointer: JSONPointer

        init(_ pointer: JSONPointer) { self.pointer = pointer }

        /// For a message.
        var place: String { pointer.tokens.isEmpty ? "the document" : pointer.description }

        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            do {
                pointer = try JSONPointer(text)
            } catch {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: error.reason))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(pointer.description)
        }
    }

    static let examples: [Action] = [
        .set(value: ["title": "Shopping", "text": "", "items": ["milk"]]),
        .patch(
            operations: JSONPatch([
                .test(JSONPointer(tokens: ["title"]), "Shopping"),
                .add(JSONPointer(tokens: ["items", "-"]), "bread"),
            ])),
        .append(path: Pointer(JSONPointer(tokens: ["text"])), text: "Do not forget the "),
        .emit(name: "token", data: "milk"),
    ]
}
