internal import Feeds
internal import JSONCoding
internal import Reactors
internal import Wire

extension Reply.Content {
    private static let version = Array("{\"version\":".utf8)
    private static let position = Array(",\"position\":\"".utf8)
    private static let end = Array("\"}\n".utf8)

    /// Appends `{"version":3,"position":"abcdefgh.3"}` and a line break. The object also has the
    /// rejected actions and the failures, if there are any.
    package func appendReceipt(to body: inout [UInt8]) {
        body.append(contentsOf: Self.version)
        Decimal.append(version, to: &body)
        body.append(contentsOf: Self.position)
        position.append(to: &body)
        guard let receipt = notableReceipt else { return body.append(contentsOf: Self.end) }
        body.append(UInt8(ascii: "\""))
        let rejected = receipt.rejected
        if !rejected.isEmpty {
            body.append(contentsOf: ",\"accepted\":false".utf8)
            if receipt.isBatch {
                let indices = rejected.map(String.init).joined(separator: ",")
                body.append(contentsOf: ",\"rejected\":[\(indices)]".utf8)
            }
        }
        let reasons = receipt.failures.filter { rejected.contains($0.index) }
        receipt.append("reason", "reasons", reasons.filter { $0.refusal == nil }, to: &body)
        receipt.append("refusal", "refusals", reasons.filter { $0.refusal != nil }, to: &body)
        let failures = receipt.failures.filter { !rejected.contains($0.index) }
        receipt.append("failed", "failures", failures, to: &body)
        body.append(contentsOf: "}\n".utf8)
    }

    /// The receipt, if an action was rejected or failed.
    private var notableReceipt: Receipt? {
        switch kind {
        case .received(let receipt), .unsettled(let receipt):
            receipt.rejected.isEmpty && receipt.failures.isEmpty ? nil : receipt
        default: nil
        }
    }
}

extension Receipt {
    /// Appends `,"one":"…"`, or for a batch `,"several":{"1":"…"}` with the actions' indices. For a
    /// refused action, an object with the code and the sentence takes the place of the text.
    fileprivate func append(
        _ one: String, _ several: String, _ chosen: [ActionFailure], to body: inout [UInt8]
    ) {
        guard !chosen.isEmpty else { return }
        body.append(contentsOf: ",\"\(isBatch ? several : one)\":".utf8)
        if isBatch { body.append(UInt8(ascii: "{")) }
        for (place, failure) in chosen.enumerated() {
            if isBatch {
                body.append(contentsOf: "\(place == 0 ? "" : ",")\"\(failure.index)\":".utf8)
            }
            if let refusal = failure.refusal, rejected.contains(failure.index) {
                body.append(contentsOf: "{\"code\":\"\(refusal.code)\",\"detail\":".utf8)
                JSON.appendString(refusal.detail, to: &body)
                body.append(UInt8(ascii: "}"))
            } else {
                JSON.appendString(failure.error, to: &body)
            }
        }
        if isBatch { body.append(UInt8(ascii: "}")) }
    }
}
