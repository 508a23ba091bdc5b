/// Lets a value encode itself onto a sheet.
///
/// Design: encoders and containers share the sheet, so it lies in a class; they change it in
/// whole steps, because each access to it is checked for overlap. No step runs a value's code.
final class JSONWriter {
    var sheet: JSONSheet

    init(appendingTo out: [UInt8]) {
        sheet = JSONSheet(appendingTo: out)
    }

    func begin(appendingTo out: [UInt8]) {
        sheet.begin(appendingTo: out)
    }

    /// Hands the bytes out without a copy.
    func takeBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &sheet.out)
        return bytes
    }

    /// Writes the whole value, or leaves nothing of it.
    func encodeRoot<Value: Encodable>(_ value: Value) throws(JSONEncodingFailure) {
        do {
            try encode(value)
        } catch {
            let failure = sheet.misuse ?? sheet.failure(for: error)
            sheet.clear()
            throw failure
        }
        guard let misuse = sheet.misuse else { return }
        sheet.clear()
        throw misuse
    }

    /// Writes one value at the end of the text. After an error the caller rolls back.
    func encode<Value: Encodable>(_ value: Value) throws {
        if JSONSheet.isSpecial(Value.self) { return try sheet.appendSpecial(value) }
        let entry = try sheet.enter(Value.self)
        try value.encode(to: JSONSlotEncoder(writer: self, slot: entry.slot, type: Value.self))
        try sheet.leave(entry)
    }
}

/// What an encoding needs while it runs, for the next one to use again.
package struct JSONEncodingSpace {
    private var writer: JSONWriter?

    package init() {}

    /// A container that outlives its `encode(to:)` keeps its writer, and the next value gets
    /// another one.
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
