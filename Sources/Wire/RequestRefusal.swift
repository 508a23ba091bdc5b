/// The reason why a request is not served: always the peer's fault.
///
/// After a refusal the start of the next request is unknown: respond with `status`, then close. The
/// values are small and allocate nothing; the texts are made on demand.
package enum RequestRefusal: PeerFault, Equatable {
    case malformedRequestLine
    case methodTooLong(limit: Int)
    case connectNotImplemented
    case targetTooLong(limit: Int)
    case forbiddenTargetCharacter
    case malformedTarget
    case unsupportedVersion

    // The head.
    case tooManyEmptyLines(limit: Int)
    case headTooLarge(limit: Int)
    case tooManyFields(limit: Int)
    case field(FieldFault)
    case missingHost
    case repeatedHost
    case malformedHost
    case unsupportedExpectation

    case malformedContentLength
    case repeatedContentLength
    case transferEncodingWithContentLength
    case transferEncodingInOldVersion
    case malformedTransferEncoding
    case chunkedNotFinal
    case unknownTransferCoding

    case bodyTooLarge(limit: Int)
    case chunk(ChunkFault)

    package var status: Int {
        switch self {
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unsupportedExpectation: 417
        case .headTooLarge, .tooManyFields: 431
        case .chunk(let fault): fault.status
        case .methodTooLong, .connectNotImplemented, .unknownTransferCoding: 501
        case .unsupportedVersion: 505
        case .malformedRequestLine, .forbiddenTargetCharacter, .malformedTarget,
            .tooManyEmptyLines, .field, .missingHost, .repeatedHost, .malformedHost,
            .malformedContentLength, .repeatedContentLength, .transferEncodingWithContentLength,
            .transferEncodingInOldVersion, .malformedTransferEncoding, .chunkedNotFinal:
            400
        }
    }

    package var code: String {
        switch self {
        case .malformedRequestLine: "malformed_request_line"
        case .methodTooLong: "method_too_long"
        case .connectNotImplemented: "connect_not_implemented"
        case .targetTooLong: "target_too_long"
        case .forbiddenTargetCharacter: "forbidden_target_character"
        case .malformedTarget: "malformed_target"
        case .unsupportedVersion: "unsupported_http_version"
        case .tooManyEmptyLines: "too_many_empty_lines"
        case .headTooLarge: "head_too_large"
        case .tooManyFields: "too_many_fields"
        case .field(let fault): fault.code
        case .missingHost: "missing_host"
        case .repeatedHost: "repeated_host"
        case .malformedHost: "malformed_host"
        case .unsupportedExpectation: "unsupported_expectation"
        case .malformedContentLength: "malformed_content_length"
        case .repeatedContentLength: "repeated_content_length"
        case .transferEncodingWithContentLength: "transfer_encoding_with_content_length"
        case .transferEncodingInOldVersion: "transfer_encoding_in_http_1_0"
        case .malformedTransferEncoding: "malformed_transfer_encoding"
        case .chunkedNotFinal: "chunked_not_final"
        case .unknownTransferCoding: "unknown_transfer_coding"
        case .bodyTooLarge: "body_too_large"
        case .chunk(let fault): fault.code
        }
    }
}
