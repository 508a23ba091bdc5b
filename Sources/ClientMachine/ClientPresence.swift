/// Whether a client is present in the sessions that it follows, and gets who else is.
package enum ClientPresence: Hashable, Sendable {
    case off
    /// It gets the presence, and counts among those without a name.
    case watching
    case named(String)

    /// Of the request for a stream of events.
    var queryItems: [String] {
        switch self {
        case .off: []
        case .watching: ["presence=on"]
        case .named(let name): ["presence=on", "as=" + QueryText.encoded(name)]
        }
    }
}
