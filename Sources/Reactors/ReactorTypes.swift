// Why a separate protocol: it requires no methods, so the compiler finds these types, and their
// defaults, without examining the methods of ``Reactor``. There, `mutate` returns an
// `Effect<Mutation>`, whose definition contains `Activity`: to infer one of them the compiler needs
// the other, and depending on the order of the files it fails ("failed to produce diagnostic", seen
// on 6.3.1 with a reactor that declares no `Activity`).

/// The types of a reactor that have defaults; a reactor declares them inside itself.
public protocol ReactorTypes {
    /// A request of a user.
    associatedtype Action: Sendable

    /// A change to the state. If a reactor declares none, its actions are its mutations.
    associatedtype Mutation: Sendable = Action

    /// An event that is delivered and never stored in the state. None by default.
    associatedtype Activity: Sendable = Never
}
