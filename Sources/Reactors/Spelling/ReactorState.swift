// Design: almost every requirement of `Reactor` has a default, so a method that only resembles the
// requirement compiles and is never called. The protocols of this folder therefore also require the
// mistakes that people make. The result of such a method is an associated type: `_Absent` if the
// default is used, any other type if the reactor has the method. A static requirement of the
// protocol is available only if all of these types are `_Absent`. Otherwise the conformance is an
// error with this project's message (verified with 6.3.1; `.ci/near-misses` compiles each of them).
//
// Why few: the author of a reactor sees the associated types and the methods in completion and in
// errors. A mistake is listed here only if people make it and nothing else shows it: labels from
// other libraries, streams from ReactorKit, and code that Swift almost accepts.
//
// Why `Action` and `State` are named again: Swift infers an associated type from any method with
// the labels, and compares only the arguments whose types belong to the same protocol. Without
// that, `mutate(_ text: String)` counts as `mutate(_ action: Action)`.
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

/// The result of a near miss that the reactor does not have.
public struct _Absent: Sendable {
    init() {}
}
