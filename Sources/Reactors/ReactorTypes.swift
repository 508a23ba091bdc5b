// Why a protocol of its own: it asks for no methods, so the compiler finds these types, and their
// defaults, without looking at the methods of ``Reactor``. There, `mutate` returns an
// `Effect<Mutation>`, which is spelt with `Activity`: to infer one the compiler needs the other, and
// it gives up or not depending on the order of the files ("failed to produce diagnostic", seen on
// 6.3.1 with a reactor that declares no `Activity`).

/// The types of a reactor that have defaults; a reactor declares them inside itself.
public protocol ReactorTypes {
    /// A request of a user.
    associatedtype Action: Sendable

    /// A change to the state. Where a reactor declares none, its actions are its mutations.
    associatedtype Mutation: Sendable = Action

    /// An event that is delivered and never stored in the state. None by default.
    associatedtype Activity: Sendable = Never
}
