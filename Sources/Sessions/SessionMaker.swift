internal import Feeds
package import JSONCoding
internal import Storage

/// Makes the reactor or the Cycler of a session from the session's id, owner and input.
@usableFromInline
package struct SessionMaker<Made>: Sendable {
    /// Makes one to examine, without a session.
    let example: @Sendable () -> Made
    /// Decodes the input once, for any number of calls of the returned closure.
    let bind: @Sendable (String, SessionCreation) throws(RecoveryFault) -> @Sendable () -> Made
    /// Nil if the reactor takes no input.
    let input: InputType?

    @usableFromInline
    package init(_ make: @escaping @Sendable () -> Made) {
        example = make
        bind = { _, _ in make }
        input = nil
    }

    /// - Parameter make: Makes one from the session's id and owner.
    @usableFromInline
    package init(_ make: @escaping @Sendable (String, String?) -> Made) {
        example = { make(exampleID, nil) }
        bind = { (id, creation) in
            let owner = creation.owner?.text
            return { make(id, owner) }
        }
        input = nil
    }

    /// - Parameters:
    ///   - examples: The first one is the input of ``example``. Without examples, an input is made
    ///     up from the type's schema.
    ///   - make: Makes one from the session's id and owner, and the input.
    /// - Throws: ``RegistrationFailure`` if an example cannot be encoded, or there is none and no
    ///   input can be made up.
    @usableFromInline
    package init<Input: Codable & Sendable>(
        _ reactor: String, input type: Input.Type, examples: [Input],
        _ make: @escaping @Sendable (String, String?, Input) -> Made
    ) throws(RegistrationFailure) {
        let input = try InputType(reactor, type, examples)
        let example: Input
        do throws(JSONRefusal) {
            if let first = examples.first {
                example = first
            } else {
                example = try input.madeUp(type)
            }
        } catch {
            throw RegistrationFailure(
                reactor: reactor,
                faults: [
                    "no input can be made up from its type (\(error.sentence)), so give one: "
                        + "inputExamples: [\(type)(…)]"
                ])
        }
        self.input = input
        self.example = { make(exampleID, nil, example) }
        bind = { (id, creation) throws(RecoveryFault) in
            let owner = creation.owner?.text
            let value: Input
            do throws(JSONRefusal) {
                // A missing input is read as `null`, which only an optional type accepts.
                value = try JSON.decode(type, stored: creation.input ?? InputType.missing)
            } catch {
                throw RecoveryFault(
                    place: "the input",
                    reason: creation.input == nil
                        ? "the session was created without one, but today's reactor needs it: "
                            + "\(type) is not optional"
                        : "today's \(type) cannot be decoded from it: \(error.sentence)")
            }
            return { make(id, owner, value) }
        }
    }
}

/// The id that reactors get which are only examined.
private let exampleID = "example"

/// The type of the input with which a reactor's sessions are created.
package struct InputType: Sendable {
    /// Describes the inputs that are accepted.
    let schema: JSONSchema
    /// Examples of inputs, as JSON.
    package let examples: [[UInt8]]
    private let decode: @Sendable ([UInt8]) throws(JSONRefusal) -> Void

    fileprivate static let missing = Array("null".utf8)

    fileprivate init<Input: Codable & Sendable>(
        _ reactor: String, _ type: Input.Type, _ values: [Input]
    ) throws(RegistrationFailure) {
        var examples: [[UInt8]] = []
        let recorder = SchemaRecorder()
        for value in values {
            var bytes: [UInt8] = []
            do {
                try JSON.encode(value, into: &bytes)
            } catch {
                throw RegistrationFailure(
                    reactor: reactor,
                    faults: ["the example \(value) of an input can't be encoded: \(error)"])
            }
            recorder.record(type, in: bytes)
            examples.append(bytes)
        }
        schema = SchemaBuilder(recorder, for: .accepted).schema(of: type, samples: examples)
        self.examples = examples
        decode = { bytes throws(JSONRefusal) in _ = try JSON.decode(type, from: bytes) }
    }

    /// A value that fits the schema: texts are `example`, numbers 1.
    fileprivate func madeUp<Input: Decodable>(_ type: Input.Type) throws(JSONRefusal) -> Input {
        var bytes: [UInt8] = []
        // A sample can always be encoded.
        try? JSON.encode(schema.sample, into: &bytes)
        return try JSON.decode(type, from: bytes)
    }

    /// - Throws: ``InputRefusal`` if no session can be created with this input, or without one.
    func check(_ input: [UInt8]?) throws(InputRefusal) {
        do {
            try decode(input ?? Self.missing)
        } catch {
            throw input == nil ? .missing : .json(error)
        }
    }
}

/// Why a session cannot be created with an input.
package enum InputRefusal: Error, Sendable, Equatable {
    /// The reactor needs an input.
    case missing
    /// The reactor takes no input.
    case notTaken
    /// The JSON is not of the input's type.
    case json(JSONRefusal)
}

extension Registration {
    /// Checks the input with which a session of this reactor is to be created.
    ///
    /// - Parameter input: One line of JSON; nil for no input.
    package func check(_ input: [UInt8]?) throws(InputRefusal) {
        if let type = self.input { return try type.check(input) }
        if input != nil { throw .notTaken }
    }
}
