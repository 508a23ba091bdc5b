/// A value that JSON has as its text.
package protocol TextCodable: Codable {
    init?(_ text: String)
    var text: String { get }
}

extension TextCodable {
    package init(from decoder: any Decoder) throws {
        let text = try String(from: decoder)
        guard let value = Self(text) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "\"\(text)\" is not a valid \(Self.self)"))
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}

extension SessionName: TextCodable {}
extension RequestKey: TextCodable {}
extension StreamPosition: TextCodable {}
