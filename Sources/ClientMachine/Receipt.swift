internal import JSONCoding
package import Reactors

/// The server's answer to a request: the actions are committed.
package struct Receipt: Sendable, Equatable {
    package var position: StreamPosition
    /// Nil if the answer was lost and an event has shown that the request is applied.
    package var version: UInt64?
    /// The indices of the actions that the reactor rejected, in the request's order.
    package var rejected: [Int] = []
    /// By the index of the action: the error of the hook that rejected it, or of its effect.
    package var failures: [Int: String] = [:]
    /// By the index of the action: the Cycler's refusal of one action of a batch.
    package var refusals: [Int: Refusal] = [:]

    package init(position: StreamPosition, version: UInt64? = nil, rejected: [Int] = []) {
        self.position = position
        self.version = version
        self.rejected = rejected
    }

    /// Nil if the body is no receipt, as of a network that answers in the server's place.
    package init?(body: [UInt8]) {
        guard let members = try? JSON.decode(Members.self, from: body),
            let position = StreamPosition(members.position)
        else { return nil }
        let isRejected = members.accepted == false
        self.init(
            position: position, version: members.version,
            rejected: members.rejected ?? (isRejected ? [0] : []))
        failures[0] = members.reason ?? members.failed
        for (index, error) in [members.reasons, members.failures].compactMap(\.self).joined() {
            if let index = Int(index) { failures[index] = error }
        }
        for (index, refusal) in members.refusals ?? [:] {
            if let index = Int(index) { refusals[index] = Refusal(refusal.code, refusal.detail) }
        }
    }

    /// The receipt of some of the request's actions, with indices that begin at the first of them.
    package func part(_ range: Range<Int>) -> Receipt {
        var part = Receipt(
            position: position, version: version,
            rejected: rejected.filter(range.contains).map { $0 - range.lowerBound })
        for index in range {
            part.failures[index - range.lowerBound] = failures[index]
            part.refusals[index - range.lowerBound] = refusals[index]
        }
        return part
    }

    private struct Members: Decodable {
        let version: UInt64
        let position: String
        let accepted: Bool?
        let rejected: [Int]?
        let reason: String?
        let failed: String?
        let reasons: [String: String]?
        let failures: [String: String]?
        let refusals: [String: Reason]?

        struct Reason: Decodable {
            let code: String
            let detail: String
        }
    }
}
