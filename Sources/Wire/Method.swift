/// The method of a request (RFC 9110 §9).
package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
    case options = "OPTIONS"
    case patch = "PATCH"
    case trace = "TRACE"
    case connect = "CONNECT"
    /// Another well-formed method; its text is `RequestHead.methodRange`.
    case other = ""

    private static let words: [(word: UInt64, method: Method)] = allCases.dropLast().map { method in
        let bytes = Array(method.rawValue.utf8)
        return (bytes.span.word(at: 0, count: bytes.count), method)
    }

    /// RFC 9110 §9.1: the method token is case-sensitive.
    ///
    /// - Parameter word: Its first eight bytes, padded with zeros; a known one has fewer.
    init(packed word: UInt64) {
        self = Self.words.first { $0.word == word }?.method ?? .other
    }
}
