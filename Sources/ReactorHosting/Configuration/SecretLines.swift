internal import Logging

/// The secrets in a file, one a line: an old and a new one can be valid at the same time.
///
/// Line ends, carriage returns before them and empty lines belong to no secret: editors write them,
/// and nobody sees them. A file that is not text is one secret, without a line feed at its end.
package struct SecretLines: Sendable {
    /// In the order of the file.
    package let secrets: [[UInt8]]
    /// Whether lines end with a carriage return: an issuer may count it as part of the secret.
    package let hasCarriageReturns: Bool

    /// A secret is at least as long as the hash of its codes (RFC 2104 §3, RFC 7518 §3.2).
    package static let minimumBytes = 32

    package init(_ bytes: [UInt8]) {
        let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        guard Self.isText(bytes) else {
            secrets = [bytes.last == lineFeed ? bytes.dropLast() : bytes]
            hasCarriageReturns = false
            return
        }
        let lines = bytes.split(separator: lineFeed)
        hasCarriageReturns = lines.contains { $0.last == carriageReturn }
        secrets = lines.map { line in
            Array(
                line[..<(line.lastIndex { $0 != carriageReturn }.map { $0 + 1 } ?? line.startIndex)]
            )
        }.filter { !$0.isEmpty }
    }

    /// The number, from 1, and the length of the first secret that is too short; nil if none is.
    package var tooShort: (number: Int, bytes: Int)? {
        guard !secrets.isEmpty else { return (1, 0) }
        let short = secrets.enumerated().first { $0.element.count < Self.minimumBytes }
        return short.map { ($0.offset + 1, $0.element.count) }
    }

    /// Logs ``hasCarriageReturns``, if there are any.
    package func reportCarriageReturns(in path: String, _ configuration: Configuration) {
        guard hasCarriageReturns else { return }
        configuration.logger.notice(
            "lines of a file with secrets end with CR LF; neither belongs to a secret",
            metadata: ["file": "\(path)"])
    }

    private static func isText(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.generalCategory != .control || ["\n", "\r", "\t"].contains(scalar)
        }
    }
}
