/// The fault of a field line, in a head or a trailer.
package struct FieldFault: Error, Sendable, Equatable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// A line that ends in LF without CR.
        case bareLineFeed
        /// A CR that no LF follows.
        case bareCarriageReturn
        /// A line that begins with white space.
        case folded
        case missingColon
        case emptyName
        case spaceBeforeColon
        case forbiddenNameCharacter
        case forbiddenValueCharacter
    }

    package let kind: Kind
    package let location: FieldLocation

    package var code: String {
        switch kind {
        case .bareLineFeed: "bare_line_feed"
        case .bareCarriageReturn: "bare_carriage_return"
        case .folded: "folded_field"
        case .missingColon: "missing_colon"
        case .emptyName: "empty_field_name"
        case .spaceBeforeColon: "space_before_colon"
        case .forbiddenNameCharacter: "forbidden_field_name_character"
        case .forbiddenValueCharacter: "forbidden_field_value_character"
        }
    }

    package var detail: String {
        switch kind {
        case .bareLineFeed: "\(location) ends in a line feed without a carriage return."
        case .bareCarriageReturn: "\(location) holds a carriage return without a line feed."
        case .folded: "\(location) begins with white space; folded fields are not accepted."
        case .missingColon: "\(location) has no colon."
        case .emptyName: "\(location) has no name before its colon."
        case .spaceBeforeColon: "\(location) has white space before its colon."
        case .forbiddenNameCharacter: "\(location) has a character that no field name may have."
        case .forbiddenValueCharacter: "\(location) has a control character in its value."
        }
    }

    package var clause: String {
        switch kind {
        case .bareLineFeed, .bareCarriageReturn: "RFC 9112 §2.2"
        case .folded: "RFC 9112 §5.2"
        case .missingColon: "RFC 9112 §5"
        case .spaceBeforeColon: "RFC 9112 §5.1"
        case .emptyName, .forbiddenNameCharacter: "RFC 9110 §5.1"
        case .forbiddenValueCharacter: "RFC 9110 §5.5"
        }
    }
}

/// The location of a fault in a head: the field's name if it is known, else the line's number.
package struct FieldLocation: Sendable, Equatable, CustomStringConvertible {
    /// 0 is the first line of the message, 1 the first field line; counting ends at 65 535.
    package let line: UInt16
    package let field: KnownField?

    init(line: Int, field: KnownField? = nil) {
        self.line = UInt16(clamping: line)
        self.field = field
    }

    package var description: String {
        if let field { return "The field \(field.name)" }
        return line == 0 ? "The first line" : "Field line \(line)"
    }
}
