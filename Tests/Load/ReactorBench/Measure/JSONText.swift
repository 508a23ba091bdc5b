/// Writes JSON. Four shapes do not justify an encoder and its module.
struct JSONText {
    private(set) var text = ""
    private var needsComma = false

    /// Starts an object or an array.
    mutating func open(_ bracket: String) {
        if needsComma { text += "," }
        text += bracket
        needsComma = false
    }

    /// Ends an object or an array.
    mutating func close(_ bracket: String) {
        text += bracket
        needsComma = true
    }

    /// Writes a key; a value must follow.
    mutating func key(_ name: String) {
        if needsComma { text += "," }
        text += Self.quoted(name) + ":"
        needsComma = false
    }

    /// Writes a member whose value is a string.
    mutating func member(_ name: String, _ value: String) {
        member(name, raw: Self.quoted(value))
    }

    /// Writes a member whose value is JSON text.
    mutating func member(_ name: String, raw: String) {
        key(name)
        text += raw
        needsComma = true
    }

    /// Writes a member whose value is an array of strings.
    mutating func list(_ name: String, _ values: [String]) {
        member(name, raw: "[" + values.map(Self.quoted).joined(separator: ",") + "]")
    }

    /// A number as JSON allows it: without infinities.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        return value == value.rounded() && value.magnitude < 1e15
            ? "\(Int64(value))" : "\(value)"
    }

    /// A string in quotes, RFC 8259 §7.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
