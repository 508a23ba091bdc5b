package import Feeds

/// One request to post actions.
package struct ActionPost {
    package var body: ActionBody
    /// `If-Match`.
    package var condition: PositionCondition?
    /// Checks whether the client may send these actions. Called after the key was looked for: the
    /// refusal of a repeated request must not depend on what has changed since the first one.
    package var check: (() throws(ActionRefusal) -> Void)?
    /// `?wait=settled`.
    package var waits = false
    /// The authenticated client; nil if the server authenticates nobody.
    package var subject: String?
    /// W3C Trace Context, for the records.
    package var traceparent: String?
    /// Nil if the request is not traced.
    package var trace: (any RequestTrace)?
    /// `Idempotency-Key`, as the client has sent it.
    package var key: String?
    /// `Idempotency-Key-Done`: keys that the client will not use again.
    package var doneKeys: [String] = []
    /// The connection's token in the service, for the reply.
    package var token: UInt64

    package init(body: ActionBody, token: UInt64) {
        self.body = body
        self.token = token
    }

    /// The key under which the answer is kept. A key belongs to its client, so the client's name
    /// follows it, after a line feed. No key contains a line feed.
    var ownedKey: String? { key.map(owned) }

    /// The same for `doneKeys`, so that no client releases the keys of another.
    var ownedDoneKeys: [String] { doneKeys.map(owned) }

    private func owned(_ key: String) -> String { subject.map { "\(key)\n\($0)" } ?? key }
}
