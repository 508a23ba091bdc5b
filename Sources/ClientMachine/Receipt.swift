internal import JSONCoding

/// The server's answer to a request: the actions are committed.
package struct Receipt: Sendable, Equatable {
    package var position: StreamPosition
    /// Nil if the answer was lost and an event has shown that the request is applied.
    package var version: UInt64?
    /// The indices of the actions that the reactor rejected, in the request's order.
    package var rejected: [Int] = []

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
    }

    /// The receipt of some of the request's actions, with indices that begin at the first of them.
    package func part(_ range: Range<Int>) -> Receipt {
        Receipt(
            position: position, version: version,
            rejected: rejected.filter(range.contains).map { $0 - range.lowerBound })
    }

    private struct Members: Decodable {
        let version: UInt64
        let position: String
        let accepted: Bool?
        let rejected: [Int]?
    }
}
