extension RequestRefusal {
    package var detail: String {
        switch self {
        case .malformedRequestLine:
            "The request line is not a method, a target and a version, separated by single spaces."
        case .methodTooLong(let limit):
            "The method is longer than \(limit) bytes; no such method is implemented."
        case .connectNotImplemented:
            "The method CONNECT is not implemented: this server is not a proxy."
        case .targetTooLong(let limit): "The request target is longer than \(limit) bytes."
        case .forbiddenTargetCharacter:
            "The request target has a character that must be percent-encoded."
        case .malformedTarget:
            "The request target is neither a path that begins with / nor an http URI."
        case .unsupportedVersion: "The request's version is not HTTP/1.1 or HTTP/1.0."
        case .tooManyEmptyLines(let limit):
            "More than \(limit) empty lines come before the request line."
        case .headTooLarge(let limit): "The request's head is larger than \(limit) bytes."
        case .tooManyFields(let limit): "The request has more than \(limit) field lines."
        case .field(let fault): fault.detail
        case .missingHost: "The field Host is missing."
        case .repeatedHost: "The field Host occurs more than once."
        case .malformedHost: "The field Host, or the target's authority, is not a host and port."
        case .unsupportedExpectation:
            "The field Expect asks for something other than 100-continue."
        case .malformedContentLength: "The field Content-Length is not one decimal number."
        case .repeatedContentLength: "The field Content-Length occurs more than once."
        case .transferEncodingWithContentLength:
            "Both Transfer-Encoding and Content-Length are present."
        case .transferEncodingInOldVersion:
            "The field Transfer-Encoding is not part of HTTP/1.0."
        case .malformedTransferEncoding:
            "The field Transfer-Encoding is not a list of codings, "
                + "with chunked once and without parameters."
        case .chunkedNotFinal: "The last coding in the field Transfer-Encoding is not chunked."
        case .unknownTransferCoding:
            "The field Transfer-Encoding names a coding other than chunked."
        case .bodyTooLarge(let limit): "The request's body is larger than \(limit) bytes."
        case .chunk(let fault): fault.detail
        }
    }

    package var clause: String {
        switch self {
        case .malformedRequestLine, .methodTooLong, .targetTooLong: "RFC 9112 §3"
        case .connectNotImplemented: "RFC 9110 §9.3.6"
        case .forbiddenTargetCharacter, .malformedTarget: "RFC 9112 §3.2"
        case .unsupportedVersion: "RFC 9110 §15.6.6"
        case .tooManyEmptyLines: "RFC 9112 §2.2"
        case .headTooLarge, .tooManyFields: "RFC 6585 §5"
        case .field(let fault): fault.clause
        case .missingHost, .repeatedHost, .malformedHost: "RFC 9112 §3.2"
        case .unsupportedExpectation: "RFC 9110 §10.1.1"
        case .malformedContentLength, .repeatedContentLength: "RFC 9110 §8.6"
        case .transferEncodingWithContentLength, .chunkedNotFinal: "RFC 9112 §6.3"
        case .transferEncodingInOldVersion, .malformedTransferEncoding, .unknownTransferCoding:
            "RFC 9112 §6.1"
        case .bodyTooLarge: "RFC 9110 §15.5.14"
        case .chunk(let fault): fault.clause
        }
    }
}
