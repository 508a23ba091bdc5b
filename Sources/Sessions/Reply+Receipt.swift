internal import Feeds
internal import Wire

extension Reply.Content {
    private static let version = Array("{\"version\":".utf8)
    private static let position = Array(",\"position\":\"".utf8)
    private static let end = Array("\"}\n".utf8)

    /// Appends `{"version":3,"position":"abcdefgh.3"}`, with the rejected actions if there are any,
    /// and a line break.
    package func appendReceipt(to body: inout [UInt8]) {
        body.append(contentsOf: Self.version)
        Decimal.append(version, to: &body)
        body.append(contentsOf: Self.position)
        position.append(to: &body)
        guard let (rejected, isBatch) = rejection else {
            return body.append(contentsOf: Self.end)
        }
        body.append(contentsOf: "\",\"accepted\":false".utf8)
        if isBatch {
            let indices = rejected.map(String.init).joined(separator: ",")
            body.append(contentsOf: ",\"rejected\":[\(indices)]".utf8)
        }
        body.append(contentsOf: "}\n".utf8)
    }

    /// The indices of the rejected actions; nil if there are none.
    private var rejection: (rejected: [Int], isBatch: Bool)? {
        switch kind {
        case .received(let rejected, let isBatch), .unsettled(let rejected, let isBatch):
            rejected.isEmpty ? nil : (rejected, isBatch)
        default: nil
        }
    }
}
