/// It may have left this program: only the same bytes under the same key may follow it (O3).
package struct SentRequest: Equatable, Sendable {
    package let key: RequestKey
    package let body: [UInt8]
    /// The time of the first attempt, in seconds since 1970-01-01T00:00:00Z.
    package let firstSent: Int64
    /// The sends in the body, in order, without those refused meanwhile. Invariant: not empty.
    package internal(set) var entries: [OutboxEntry]

    var options: SendOptions { entries[0].options }
}
