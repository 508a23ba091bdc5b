/// Names a topic that many sessions of a process listen to, and the type of its values.
///
/// ```swift
/// extension Topic where Element == User { static let currentUser = Topic("currentUser") }
///
/// var sources: [Source] { [.mutations(topic: .currentUser) { .setUser($0) }] }
/// …
/// topics.publish(user, to: .currentUser)
/// ```
///
/// Topics with the same name but different types are different. Over HTTP a topic is only a name: a
/// posted value is decoded once for every type that has a listener under that name.
///
/// A topic that remembers keeps its newest value on each ``TopicBus``. A session that starts later
/// applies that value before its first state is visible:
///
/// ```swift
/// static let currentUser = Topic<User>("currentUser", remembers: true)
/// ```
///
/// In a server the values of a topic are in the journal. Each session gets each of them once,
/// however often it wakes.
public struct Topic<Element: Sendable>: Sendable {
    /// The name; over HTTP the last part of the topic's path.
    public let name: String

    /// Whether a bus keeps the newest value for sessions that start later.
    public let remembers: Bool

    /// Makes a topic.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - remembers: whether a bus keeps the newest value for sessions that start later. Default
    ///     false: a session gets only values published after its start. The newest value is kept as
    ///     long as the bus exists; in a server, as long as the journal keeps it.
    public init(_ name: String, remembers: Bool = false) {
        self.name = name
        self.remembers = remembers
    }
}

extension Topic: Hashable {
    /// Topics of one type are equal if their names are.
    public static func == (one: Topic, other: Topic) -> Bool { one.name == other.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
