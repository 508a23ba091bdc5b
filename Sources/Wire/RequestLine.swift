/// Method, target and version (RFC 9112 §3). All ranges are offsets into the head's bytes.
///
/// Exactly one space separates its parts: §3 permits leniency about white space, and also states
/// that such leniency enables request smuggling.
struct RequestLine: Sendable {
    /// Precedent: the longest registered method has 17 bytes.
    static let methodLimitBytes = 32

    private(set) var method = Method.other
    private(set) var methodRange = 0..<0
    private(set) var minorVersion = 1
    private(set) var path = 0..<0
    private(set) var query: Range<Int>?
    private(set) var authority: Range<Int>?

    init() {}

    init(
        _ line: Range<Int>, in bytes: Span<UInt8>, limits: RequestLimits
    ) throws(RequestRefusal) {
        let methodEnd = try Self.readMethod(line, in: bytes)
        methodRange = line.lowerBound..<methodEnd
        let packed = bytes.word(at: line.lowerBound, count: methodRange.count)
        method = Method(packed: packed)

        let target = try Self.readTarget((methodEnd + 1)..<line.upperBound, in: bytes)
        guard target.count <= limits.targetBytes else {
            throw .targetTooLong(limit: limits.targetBytes)
        }
        minorVersion = try Self.readVersion((target.upperBound + 1)..<line.upperBound, in: bytes)
        try split(target, in: bytes)
    }

    /// The offset of the space after a well-formed method.
    private static func readMethod(
        _ line: Range<Int>, in bytes: Span<UInt8>
    ) throws(RequestRefusal) -> Int {
        var index = line.lowerBound
        while index < line.upperBound, ByteClass.token.contains(bytes[index]) { index += 1 }
        guard index > line.lowerBound, index < line.upperBound, bytes[index] == 0x20 else {
            throw fault(.malformedRequestLine, at: index, line, in: bytes)
        }
        guard index - line.lowerBound <= methodLimitBytes else {
            throw .methodTooLong(limit: methodLimitBytes)
        }
        return index
    }

    /// The target, from the start of the rest of the line to the space after it.
    private static func readTarget(
        _ rest: Range<Int>, in bytes: Span<UInt8>
    ) throws(RequestRefusal) -> Range<Int> {
        var index = rest.lowerBound
        while index < rest.upperBound, ByteClass.target.contains(bytes[index]) { index += 1 }
        guard index < rest.upperBound else { throw .malformedRequestLine }
        guard bytes[index] == 0x20 else {
            throw fault(.forbiddenTargetCharacter, at: index, rest, in: bytes)
        }
        guard index > rest.lowerBound else { throw .malformedRequestLine }
        return rest.lowerBound..<index
    }

    /// RFC 9112 §2.3: "HTTP/" DIGIT "." DIGIT, case-sensitive.
    private static func readVersion(
        _ version: Range<Int>, in bytes: Span<UInt8>
    ) throws(RequestRefusal) -> Int {
        guard version.count == 8 else {
            let end = bytes.first(0x0d, in: version) ?? version.upperBound
            throw fault(.malformedRequestLine, at: end, version, in: bytes)
        }
        let word = bytes.word(at: version.lowerBound)
        if word == 0x312e_312f_5054_5448 { return 1 }
        if word == 0x302e_312f_5054_5448 { return 0 }
        let major = bytes[version.lowerBound + 5]
        let minor = bytes[version.lowerBound + 7]
        guard word & 0x00ff_00ff_ffff_ffff == 0x002e_002f_5054_5448,
            ByteClass.isDigit(major), ByteClass.isDigit(minor)
        else {
            let end = bytes.first(0x0d, in: version) ?? version.upperBound
            throw fault(.malformedRequestLine, at: end, version, in: bytes)
        }
        guard major == 0x31 else { throw .unsupportedVersion }
        // RFC 9110 §2.5: a higher minor version is treated as the highest known one.
        return 1
    }

    /// A carriage return is reported as such, wherever it is.
    private static func fault(
        _ other: RequestRefusal, at index: Int, _ range: Range<Int>, in bytes: Span<UInt8>
    ) -> RequestRefusal {
        guard index < range.upperBound, bytes[index] == 0x0d else { return other }
        return .field(.bareCarriageReturn, line: 0)
    }

    /// RFC 9112 §3.2: of the four forms of a target an origin server accepts three.
    private mutating func split(
        _ target: Range<Int>, in bytes: Span<UInt8>
    ) throws(RequestRefusal) {
        if method == .connect { throw .connectNotImplemented }
        if bytes[target.lowerBound] == 0x2f {
            splitQuery(target, in: bytes)
        } else if target.count == 1, bytes[target.lowerBound] == 0x2a {
            guard method == .options else { throw .malformedTarget }
            path = target
        } else if bytes.equals("http://", in: target.prefix(7), ignoringCase: true) {
            try splitAbsolute(target.dropFirst(7), in: bytes)
        } else if bytes.equals("https://", in: target.prefix(8), ignoringCase: true) {
            try splitAbsolute(target.dropFirst(8), in: bytes)
        } else {
            throw .malformedTarget
        }
    }

    /// - Parameter rest: An absolute target after its `//`.
    private mutating func splitAbsolute(
        _ rest: Range<Int>, in bytes: Span<UInt8>
    ) throws(RequestRefusal) {
        let start = rest.lowerBound
        var end = start
        while end < rest.upperBound, bytes[end] != 0x2f, bytes[end] != 0x3f { end += 1 }
        // RFC 9110 §4.2.1: an http URI with an empty host is invalid, with or without a port.
        // §4.2.4: user information is invalid, too; the check of the host refuses its `@`.
        guard end > start, bytes[start] != 0x3a, Authority.isValid(start..<end, in: bytes) else {
            throw .malformedHost
        }
        authority = start..<end
        if end < rest.upperBound, bytes[end] == 0x2f {
            splitQuery(end..<rest.upperBound, in: bytes)
        } else {
            // RFC 9110 §4.2.3: an empty path is "/"; the second slash of "//" represents it, so
            // that the path is a range like any other.
            path = (start - 1)..<start
            query = end < rest.upperBound ? (end + 1)..<rest.upperBound : nil
        }
    }

    private mutating func splitQuery(_ target: Range<Int>, in bytes: Span<UInt8>) {
        guard let mark = bytes.first(0x3f, in: target) else {
            path = target
            return
        }
        path = target.lowerBound..<mark
        query = (mark + 1)..<target.upperBound
    }
}
