internal import JSONCoding
internal import Reactors

/// The action, or the batch of actions, that is being received.
struct Arrival {
    /// The `traceparent` of its request, for the records that it leaves.
    var traceparent: String?
    /// Nil if its request is not traced.
    var trace: (any RequestTrace)?
    /// The authenticated client that has sent it.
    var subject: String?
    /// The `Idempotency-Key` of its request.
    var key: String?
    /// The action as the client sent it, if it was sent alone and on one line.
    var line: ArraySlice<UInt8>?
    /// The body, and the number of its first action.
    var posted: (body: JSONBody, first: UInt64)?
    /// The name of the source whose mutation is being received in place of an action.
    var source: String?
    /// How many processes in succession have begun it and ended.
    var begunBefore = 0
    /// For the receipt.
    private(set) var failures: [ActionFailure] = []

    /// Keeps the first error of each action. Beyond the limit, keeps only the codes of refusals,
    /// because clients decide by them.
    mutating func record(_ error: any Error, ofAction index: Int) {
        guard failures.last?.index != index else { return }
        if failures.count < ActionFailure.limit {
            failures.append(ActionFailure(index: index, error: error))
        } else if let refusal = error as? Refusal {
            failures.append(ActionFailure(index: index, error: Refusal(refusal.code, "")))
        }
    }
}
