/// The reason why a request is not served, or a response not read: always the peer's fault.
///
/// After a refusal of the head or the body, the start of the next request is unknown: respond with
/// `status`, then close.
package struct RequestRefusal: Error, Sendable, Equatable {
    package let status: Int
    /// A stable name for programs, in snake_case.
    package let code: String
    /// The clause that requires the refusal, such as `RFC 9112 §5.1`.
    package let clause: String
    /// A sentence for a reader that names the field or the part at fault.
    package let detail: String

    private init(_ status: Int, _ code: String, _ clause: String, _ detail: String) {
        self.status = status
        self.code = code
        self.clause = clause
        self.detail = detail
    }
}

// The request line.
extension RequestRefusal {
    package static let malformedRequestLine = RequestRefusal(
        400, "malformed_request_line", "RFC 9112 §3",
        "The request line is not a method, a target and a version, separated by single spaces.")
    /// Of a response.
    static let malformedStatusLine = RequestRefusal(
        400, "malformed_status_line", "RFC 9112 §4",
        "The first line is not a version, a status and a reason.")
    package static let connectNotImplemented = RequestRefusal(
        501, "connect_not_implemented", "RFC 9110 §9.3.6",
        "The method CONNECT is not implemented: this server is not a proxy.")
    package static let forbiddenTargetCharacter = RequestRefusal(
        400, "forbidden_target_character", "RFC 9112 §3.2",
        "The request target has a character that must be percent-encoded.")
    package static let malformedTarget = RequestRefusal(
        400, "malformed_target", "RFC 9112 §3.2",
        "The request target is neither a path that begins with / nor an http URI.")
    package static let unsupportedVersion = RequestRefusal(
        505, "unsupported_http_version", "RFC 9110 §15.6.6",
        "The request's version is not HTTP/1.1 or HTTP/1.0.")

    package static func methodTooLong(limit: Int) -> RequestRefusal {
        RequestRefusal(
            501, "method_too_long", "RFC 9112 §3",
            "The method is longer than \(limit) bytes; no such method is implemented.")
    }

    package static func targetTooLong(limit: Int) -> RequestRefusal {
        RequestRefusal(
            414, "target_too_long", "RFC 9112 §3",
            "The request target is longer than \(limit) bytes.")
    }

    package static func tooManyEmptyLines(limit: Int) -> RequestRefusal {
        RequestRefusal(
            400, "too_many_empty_lines", "RFC 9112 §2.2",
            "More than \(limit) empty lines come before the request line.")
    }
}

// The fields, and what they say of the body.
extension RequestRefusal {
    package static let missingHost = RequestRefusal(
        400, "missing_host", "RFC 9112 §3.2", "The field Host is missing.")
    package static let repeatedHost = RequestRefusal(
        400, "repeated_host", "RFC 9112 §3.2", "The field Host occurs more than once.")
    package static let malformedHost = RequestRefusal(
        400, "malformed_host", "RFC 9112 §3.2",
        "The field Host, or the target's authority, is not a host and port.")
    package static let unsupportedExpectation = RequestRefusal(
        417, "unsupported_expectation", "RFC 9110 §10.1.1",
        "The field Expect asks for something other than 100-continue.")
    package static let malformedContentLength = RequestRefusal(
        400, "malformed_content_length", "RFC 9110 §8.6",
        "The field Content-Length is not one decimal number.")
    package static let repeatedContentLength = RequestRefusal(
        400, "repeated_content_length", "RFC 9110 §8.6",
        "The field Content-Length occurs more than once.")
    package static let transferEncodingWithContentLength = RequestRefusal(
        400, "transfer_encoding_with_content_length", "RFC 9112 §6.3",
        "Both Transfer-Encoding and Content-Length are present.")
    package static let transferEncodingInOldVersion = RequestRefusal(
        400, "transfer_encoding_in_http_1_0", "RFC 9112 §6.1",
        "The field Transfer-Encoding is not part of HTTP/1.0.")
    package static let malformedTransferEncoding = RequestRefusal(
        400, "malformed_transfer_encoding", "RFC 9112 §6.1",
        "The field Transfer-Encoding is not a list of codings, "
            + "with chunked once and without parameters.")
    package static let chunkedNotFinal = RequestRefusal(
        400, "chunked_not_final", "RFC 9112 §6.3",
        "The last coding in the field Transfer-Encoding is not chunked.")
    package static let unknownTransferCoding = RequestRefusal(
        501, "unknown_transfer_coding", "RFC 9112 §6.1",
        "The field Transfer-Encoding names a coding other than chunked.")

    package static func headTooLarge(limit: Int) -> RequestRefusal {
        RequestRefusal(
            431, "head_too_large", "RFC 6585 §5",
            "The head is larger than \(limit) bytes.")
    }

    package static func tooManyFields(limit: Int) -> RequestRefusal {
        RequestRefusal(
            431, "too_many_fields", "RFC 6585 §5",
            "The request has more than \(limit) field lines.")
    }

    /// A field line that is not well formed. It is named by its field if that is known, else by its
    /// number.
    ///
    /// - Parameter line: 0 is the first line of the message, 1 the first field line.
    static func field(
        _ fault: FieldFault, line: Int, _ field: KnownField? = nil
    ) -> RequestRefusal {
        let place =
            field.map { "The field \($0.name)" }
            ?? (line == 0 ? "The first line" : "Field line \(line)")
        return RequestRefusal(400, fault.code, fault.clause, "\(place) \(fault.predicate).")
    }
}

/// The fault of a field line: the end of the sentence that refuses it.
struct FieldFault: Sendable {
    let code: String
    let clause: String
    let predicate: String

    /// A line that ends in LF without CR.
    static let bareLineFeed = FieldFault(
        code: "bare_line_feed", clause: "RFC 9112 §2.2",
        predicate: "ends in a line feed without a carriage return")
    /// A CR that no LF follows.
    static let bareCarriageReturn = FieldFault(
        code: "bare_carriage_return", clause: "RFC 9112 §2.2",
        predicate: "holds a carriage return without a line feed")
    static let folded = FieldFault(
        code: "folded_field", clause: "RFC 9112 §5.2",
        predicate: "begins with white space; folded fields are not accepted")
    static let missingColon = FieldFault(
        code: "missing_colon", clause: "RFC 9112 §5", predicate: "has no colon")
    static let emptyName = FieldFault(
        code: "empty_field_name", clause: "RFC 9110 §5.1",
        predicate: "has no name before its colon")
    static let spaceBeforeColon = FieldFault(
        code: "space_before_colon", clause: "RFC 9112 §5.1",
        predicate: "has white space before its colon")
    static let forbiddenNameCharacter = FieldFault(
        code: "forbidden_field_name_character", clause: "RFC 9110 §5.1",
        predicate: "has a character that no field name may have")
    static let forbiddenValueCharacter = FieldFault(
        code: "forbidden_field_value_character", clause: "RFC 9110 §5.5",
        predicate: "has a control character in its value")
}

// The body.
extension RequestRefusal {
    /// The size is not hexadecimal digits and CR LF, or has more than 16 digits.
    package static let malformedChunkSize = RequestRefusal(
        400, "malformed_chunk_size", "RFC 9112 §7.1",
        "A chunk's size is not a hexadecimal number and a line end.")
    /// An extension is not `;name`, `;name=token` or `;name="text"`.
    package static let malformedChunkExtension = RequestRefusal(
        400, "malformed_chunk_extension", "RFC 9112 §7.1.1",
        "A chunk's extension is not a semicolon, a name, and optionally = and a value.")
    /// There is no CR LF after a chunk's data.
    package static let chunkTooLong = RequestRefusal(
        400, "chunk_longer_than_its_size", "RFC 9112 §7.1",
        "A chunk's data is not followed by a line end.")
    package static let malformedTrailer = RequestRefusal(
        400, "malformed_trailer", "RFC 9112 §7.1.2",
        "A trailer field is not a name, a colon, a value and a line end.")

    package static func bodyTooLarge(limit: Int) -> RequestRefusal {
        RequestRefusal(
            413, "body_too_large", "RFC 9110 §15.5.14",
            "The body is larger than \(limit) bytes.")
    }

    package static func chunkExtensionsTooLarge(limit: Int) -> RequestRefusal {
        RequestRefusal(
            400, "chunk_extensions_too_large", "RFC 9112 §7.1.1",
            "The chunk extensions of the body are larger than \(limit) bytes.")
    }

    package static func trailerTooLarge(limit: Int) -> RequestRefusal {
        RequestRefusal(
            431, "trailer_too_large", "RFC 6585 §5",
            "The trailer fields are larger than \(limit) bytes.")
    }
}

// The query, whose items are counted from 1.
extension RequestRefusal {
    /// A `%` is not followed by two hexadecimal digits.
    package static func malformedEscape(inItem number: Int) -> RequestRefusal {
        RequestRefusal(
            400, "malformed_percent_escape", "RFC 3986 §2.1",
            "Item \(number) of the query has a % that is not followed by two hexadecimal digits.")
    }

    package static func malformedText(inItem number: Int) -> RequestRefusal {
        RequestRefusal(
            400, "malformed_utf8", "RFC 3986 §2.5", "Item \(number) of the query is not UTF-8.")
    }

    package static func tooManyItems(limit: Int) -> RequestRefusal {
        RequestRefusal(
            400, "too_many_query_items", "RFC 9110 §15.5.1",
            "The query has more than \(limit) items.")
    }
}
