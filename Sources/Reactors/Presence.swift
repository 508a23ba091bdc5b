/// The readers of a session's streams at one moment.
///
/// A reader of a server declares its name with `?as=`. It is present while one of its streams is
/// open, and for 10 seconds after the last one closes.
public struct Presence: Sendable, Equatable, Codable {
    /// The names, each once, in the order of their UTF-8 bytes. Empty if there are more than 100;
    /// ``count`` is then their number.
    public var present: [String]
    /// The number of names.
    public var count: Int
    /// The number of streams without a name.
    public var others: Int

    /// Nobody, or these readers. Default of `count`: the number of names in `present`.
    public init(present: [String] = [], count: Int? = nil, others: Int = 0) {
        (self.present, self.count, self.others) = (present, count ?? present.count, others)
    }
}

extension ReactorSource {
    /// Each change of a part of the session's presence becomes a mutation of the session, at most
    /// one a second. The journal has these mutations, too.
    ///
    /// ```swift
    /// var sources: [Source] { [.mutations(presence: \.present) { .setPresent($0) }] }
    /// ```
    ///
    /// When a session of a server wakes, the present readers are applied before its first state is
    /// visible, if they change it. The session stays in memory, like one that listens to a topic.
    /// In a ``ReactorHost`` nobody is present. The source is named `presence` in records.
    ///
    /// - Parameters:
    ///   - part: the part to compare; `\.self` for everything.
    ///   - make: makes the mutation. Called with the new value.
    public static func mutations<Value: Equatable & Sendable>(
        presence part: any KeyPath<Presence, Value> & Sendable,
        _ make: @escaping @Sendable (Value) -> Mutation
    ) -> ReactorSource {
        ReactorSource(presence: part) { .mutation(make($0)) }
    }

    /// The same as ``mutations(presence:_:)``, with an action. A Cycler also receives the present
    /// readers each time that its session wakes.
    public static func actions<Value: Equatable & Sendable>(
        presence part: any KeyPath<Presence, Value> & Sendable,
        _ make: @escaping @Sendable (Value) -> Action
    ) -> ReactorSource {
        ReactorSource(presence: part) { .action(make($0)) }
    }
}
