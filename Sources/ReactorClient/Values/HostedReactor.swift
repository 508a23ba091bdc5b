/// A reactor that a server hosts.
public struct HostedReactor: Decodable, Hashable, Sendable {
    /// Its name, for ``ReactorClient/session(_:of:input:as:predicting:from:)``.
    public let name: String
    /// The names of its pulses.
    public let pulses: [String]
    /// The names of its activities.
    public let activities: [String]
}

/// A session in a server's list.
public struct SessionSummary: Decodable, Hashable, Sendable {
    /// The id.
    public let id: String
    /// The name of its reactor; nil if the server does not know it.
    public let reactor: String?
    /// The number of mutations.
    public let version: UInt64?
    /// `quarantined`, if the server cannot rebuild the session; nil usually.
    public let status: String?
    /// Why it is quarantined.
    public let reason: String?
}
