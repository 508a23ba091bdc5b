// Design: almost every requirement of `Reactor` has a default, so a method that only resembles the
// requirement compiles and is never called. The protocols of this folder therefore also require the
// likely near misses. The parameters of such a method are associated types: `_Absent` if the
// default is used, and the requirement's own type if the reactor has the near miss. For the second
// case the protocol's static requirement has a more specific default that is unavailable: the
// conformance is then an error with this project's message (verified with 6.3.1; `.ci/near-misses`
// compiles each of them).
//
// Not detected: a wrong base name; a correct `mutate` or `reduce` that is `async`, because the
// default fits the requirement. A method with the labels of a near miss and other types is
// accepted, unless it is private: Swift uses it as the witness and requires it to be as accessible
// as the reactor.
//
// Why the names begin with an underscore: they are not part of the interface, and DocC omits them.

/// The state of a reactor.
///
/// A separate protocol, so that near misses are checked after the state is known.
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
