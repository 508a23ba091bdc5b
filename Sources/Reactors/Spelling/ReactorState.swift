// Design: almost every requirement of `Reactor` has a default, so a method that resembles the
// requirement compiles and is never called. The protocols of this folder also require the likely
// near misses. The parameters of such a method are associated types: `_Absent` where the default is
// used, and the requirement's own type where the reactor has the near miss. For that case there is
// a more specific default of the protocol's static requirement, which is unavailable: the
// conformance is an error with a message of ours (seen on 6.3.1; `.ci/near-misses` compiles each of
// them).
//
// Not found this way: a wrong base name; a correct `mutate` or `reduce` that is `async`, since the
// default fits the requirement. A method with the labels of a near miss and other types is
// accepted, unless it is private: Swift uses it as the witness and requires it to be as accessible
// as the reactor.
//
// Why the names begin with an underscore: they are not part of the interface, and DocC omits them.

/// The state of a reactor.
///
/// A separate protocol, so that near misses are checked when the state is known.
public protocol _ReactorState: ReactorTypes {
    /// The state.
    associatedtype State: Sendable

    /// The state of version 0.
    var initialState: State { get }
}

/// The parameters and the result of a near miss that the reactor does not have.
public struct _Absent: Sendable {
    init() {}
}
