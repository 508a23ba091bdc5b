/// Lets a value encode itself into an output.
///
/// Design: encoders and containers share the output, so a class holds it. They change it in
/// complete steps, because each access to it is checked for overlap. No step runs a value's code.
final class JSONWriter {
    var output: JSONOutput
    /// Gets each member of a root object, unless it is a scalar, before that is written.
    let showMember: ((_ key: String, _ value: Any) -> Void)?

    init(
        appendingTo out: [UInt8], showMember: ((_ key: String, _ value: Any) -> Void)? = nil
    ) {
        output = JSONOutput(appendingTo: out)
        self.showMember = showMember
    }

    func begin(appendingTo out: [UInt8]) {
        output.begin(appendingTo: out)
    }

    func takeBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &output.out)
        return bytes
    }

    /// Writes the whole value; on failure leaves nothing of it.
    func encodeRoot<Value: Encodable>(_ value: Value) throws(JSONEncodingFailure) {
        do {
            try encode(value)
        } catch {
            let failure = output.misuse ?? output.failure(for: error)
            output.clear()
            throw failure
        }
        guard let misuse = output.misuse else { return }
        output.clear()
        throw misuse
    }

    /// Writes the value of an element or member that was begun; after an error takes it back.
    func fill<Value: Encodable>(_ mark: JSONOutput.Mark, with value: Value) throws {
        do {
            try encode(value)
        } catch {
            output.rollBack(mark, because: error)
            throw error
        }
        output.finish(mark)
    }

    /// Writes one value at the end of the text. After an error the caller rolls back.
    func encode<Value: Encodable>(_ value: Value) throws {
        if JSONOutput.isSpecial(Value.self) { return try output.appendSpecial(value) }
        let entry = try output.enter(Value.self)
        try value.encode(to: JSONSlotEncoder(writer: self, slot: entry.slot, type: Value.self))
        try output.leave(entry)
    }
}

/// The buffers of an encoding; the next one reuses them.
package struct JSONEncodingSpace {
    private var writer: JSONWriter?

    package init() {}

    /// A container that outlives its `encode(to:)` keeps its writer; the next value gets another.
    mutating func writer(appendingTo out: [UInt8]) -> JSONWriter {
        if isKnownUniquelyReferenced(&writer), let writer {
            writer.begin(appendingTo: out)
            return writer
        }
        let writer = JSONWriter(appendingTo: out)
        self.writer = writer
        return writer
    }
}
