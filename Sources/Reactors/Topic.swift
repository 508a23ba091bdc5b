/// Names what many sessions of a process listen to, and the type of what they are told.
///
/// ```swift
/// extension Topic where Element == User { static let currentUser = Topic("currentUser") }
///
/// var sources: [Source] { [.mutations(topic: .currentUser) { .setUser($0) }] }
/// …
/// topics.publish(user, to: .currentUser)
/// ```
///
/// Two topics of one name but of different types are two topics. Over HTTP a topic is its name
/// alone: what is posted is read once for every type that is listened to under that name.
public struct Topic<Element: Sendable>: Hashable, Sendable {
    /// The name; over HTTP the last part of the topic's path.
    public let name: String

    /// Makes a topic.
    public init(_ name: String) { self.name = name }
}
