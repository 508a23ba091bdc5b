/// The value of an `Authorization` field, and how long it can be used.
package struct Credential: Sendable, Hashable {
    package var authorization: String
    /// The uptime at which it expires; nil if unknown: it is then used for one attempt only.
    package var expires: Duration?

    package init(authorization: String, expires: Duration? = nil) {
        self.authorization = authorization
        self.expires = expires
    }
}
