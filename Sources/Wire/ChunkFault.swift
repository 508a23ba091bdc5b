/// The fault of a chunked body.
package enum ChunkFault: Error, Sendable, Equatable {
    /// The size is not hexadecimal digits and CR LF, or has more than 16 digits.
    case malformedSize
    /// An extension is not `;name`, `;name=token` or `;name="text"`.
    case malformedExtension
    case extensionsTooLarge(limit: Int)
    /// There is no CR LF after a chunk's data.
    case dataTooLong
    /// The body would be larger than allowed; a reader reports it as `bodyTooLarge`.
    case tooLarge
    case malformedTrailer
    case trailerTooLarge(limit: Int)

    package var status: Int {
        switch self {
        case .tooLarge: 413
        case .trailerTooLarge: 431
        case .malformedSize, .malformedExtension, .extensionsTooLarge, .dataTooLong,
            .malformedTrailer:
            400
        }
    }

    package var code: String {
        switch self {
        case .malformedSize: "malformed_chunk_size"
        case .malformedExtension: "malformed_chunk_extension"
        case .extensionsTooLarge: "chunk_extensions_too_large"
        case .dataTooLong: "chunk_longer_than_its_size"
        case .tooLarge: "body_too_large"
        case .malformedTrailer: "malformed_trailer"
        case .trailerTooLarge: "trailer_too_large"
        }
    }

    package var detail: String {
        switch self {
        case .malformedSize: "A chunk's size is not a hexadecimal number and a line end."
        case .malformedExtension:
            "A chunk's extension is not a semicolon, a name, and optionally = and a value."
        case .extensionsTooLarge(let limit):
            "The chunk extensions of the body are larger than \(limit) bytes."
        case .dataTooLong: "A chunk's data is not followed by a line end."
        case .tooLarge: "The body is larger than allowed."
        case .malformedTrailer: "A trailer field is not a name, a colon, a value and a line end."
        case .trailerTooLarge(let limit): "The trailer fields are larger than \(limit) bytes."
        }
    }

    package var clause: String {
        switch self {
        case .malformedSize, .dataTooLong: "RFC 9112 §7.1"
        case .malformedExtension, .extensionsTooLarge: "RFC 9112 §7.1.1"
        case .tooLarge: "RFC 9110 §15.5.14"
        case .malformedTrailer: "RFC 9112 §7.1.2"
        case .trailerTooLarge: "RFC 6585 §5"
        }
    }
}
