internal import Wire

/// Whether a client is present in the sessions that it follows, and sees who else is.
package enum ClientPresence: Hashable, Sendable {
    case off
    /// The client gets the presence, and counts as a reader without a name.
    case watching
    case named(String)

    /// The parameters for the request of an event stream.
    var queryItems: [String] {
        switch self {
        case .off: []
        case .watching: ["presence=on"]
        case .named(let name): ["presence=on", "as=" + PercentEncoding.encoded(name)]
        }
    }
}
