// Design: a second front on the idea of a reactor. Who is notified, in which order, and what a failing
// commit leaves is the work of the storage's core; a cycler is the type that has the storage.

/// The types of a cycler; a cycler declares them inside itself.
///
/// A protocol of its own for the reason that `ReactorTypes` is one.
public protocol CyclerTypes {
    /// The state. Usually a struct.
    associatedtype State: Sendable

    /// An event that is delivered and never stored in the state. None by default.
    associatedtype Activity: Sendable = Never
}

/// An object with a state that its own methods write, by `commit` and `dispatch`.
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
/// A commit is one version and one notification, whatever it writes. There are no locks: a cycler
/// belongs to the actor, or the main actor, that made it, and the compiler watches that.
public protocol Cycler: CyclerTypes, AnyObject {
    /// The state. Make one storage and keep it: it is the cycler's identity to all who observe.
    var state: Storage<State> { get }
}
