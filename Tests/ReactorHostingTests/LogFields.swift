import Foundation

/// The fields of a line of the log, read by a parser of its form.
enum LogFields {
    /// A line of JSON, as Foundation reads it. Numbers are returned as their text.
    static func json(_ line: some Sequence<UInt8>) throws -> [String: String] {
        let object = try JSONSerialization.jsonObject(with: Data(line))
        return try (object as? [String: Any] ?? [:]).mapValues { value in
            if let text = value as? String { return text }
            guard let number = value as? NSNumber else { throw NotLogfmt(at: 0) }
            return number.stringValue
        }
    }

    struct NotLogfmt: Error {
        var at: Int
    }

    /// A line of logfmt, read by the rules of Go's `logfmt` decoder: pairs between spaces; a key
    /// ends at `=`; a value is quoted, with the escapes of JSON, or ends at a space.
    static func logfmt(_ line: some Sequence<UInt8>) throws -> [(key: String, value: String)] {
        let bytes = Array(line)
        var fields: [(key: String, value: String)] = []
        var at = 0
        while at < bytes.count {
            guard bytes[at] > 0x20 else {
                at += 1
                continue
            }
            let keyStart = at
            while at < bytes.count, bytes[at] > 0x20, bytes[at] != 0x3D {
                guard bytes[at] != 0x22 else { throw NotLogfmt(at: at) }
                at += 1
            }
            let key = String(decoding: bytes[keyStart..<at], as: UTF8.self)
            guard at > keyStart, at < bytes.count, bytes[at] == 0x3D else {
                throw NotLogfmt(at: at)
            }
            at += 1
            fields.append((key, try value(bytes, &at)))
        }
        return fields
    }

    private static func value(_ bytes: [UInt8], _ at: inout Int) throws -> String {
        let start = at
        guard at < bytes.count, bytes[at] == 0x22 else {
            while at < bytes.count, bytes[at] > 0x20 {
                guard bytes[at] != 0x22, bytes[at] != 0x3D else { throw NotLogfmt(at: at) }
                at += 1
            }
            return String(decoding: bytes[start..<at], as: UTF8.self)
        }
        at += 1
        while at < bytes.count, bytes[at] != 0x22 { at += bytes[at] == 0x5C ? 2 : 1 }
        guard at < bytes.count else { throw NotLogfmt(at: start) }
        at += 1
        guard at == bytes.count || bytes[at] == 0x20 else { throw NotLogfmt(at: at) }
        let text = try JSONSerialization.jsonObject(
            with: Data(bytes[start..<at]), options: .fragmentsAllowed)
        guard let text = text as? String else { throw NotLogfmt(at: start) }
        return text
    }
}
