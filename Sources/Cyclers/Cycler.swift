// Design: an alternative form of a reactor. The storage's core notifies observers in order and
// rolls back failed commits; a cycler is the type that owns the storage.

/// The types of a cycler; a cycler declares them inside itself.
///
/// A separate protocol for the same reason as `ReactorTypes`.
public protocol CyclerTypes {
    /// The state. Usually a struct.
    associatedtype State: Sendable

    /// An event that is delivered and never stored in the state. None by default.
    associatedtype Activity: Sendable = Never
}

/// An object with a state that its own methods change, by `commit` and `dispatch`.
///
/// ```swift
/// final class ViewModel: Cycler {
///     enum Activity { case didReachBigNumber }
///     struct State { fileprivate(set) var count = 0 }
///
///     let state: Storage<State> = .init(.init())
///
///     func increment(by number: Int) {
///         commit("increment") { state in
///             state.updateIfChanged(state.value.count + number, \.count)
///         }
///         if state.value.count > 10 { emit(.didReachBigNumber) }
///     }
/// }
/// ```
///
/// A commit is one version and one notification, regardless of the number of writes. There are no
/// locks: a cycler belongs to the isolation that made it, and the compiler enforces this.
public protocol Cycler: CyclerTypes, AnyObject {
    /// The state. Make one storage and keep it: observers identify the cycler by it.
    var state: Storage<State> { get }
}
