// Design: almost every requirement of `Reactor` has a default, so a method that nearly is the
// requirement compiles and is never called. The protocols of this folder ask for the likely near
// misses as well. What such a method takes is an associated type: it is `_Absent` where the default
// stands in, and the requirement's own type where the reactor has the near miss. For that there is a
// more special default of the protocol's static requirement, which is unavailable: the conformance is
// an error, and its message is ours (seen on 6.3.1; `.ci/near-misses` compiles each of them).
//
// Not found this way: a wrong base name; `mutate` or `reduce` that is right but `async`,
// since the default fits the requirement that is not. A method with the labels of a near miss and
// other types is let be, unless it is private: Swift takes it for the witness and wants it to be as
// accessible as the reactor.
//
// Why the names begin with an underscore: these are no part of the interface, and DocC leaves them
// out.

/// The state of a reactor.
///
/// A protocol of its own, so that the near misses are looked for when the state is known.
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
