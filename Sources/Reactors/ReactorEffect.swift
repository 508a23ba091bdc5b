// Design: a value that says what to do. It does nothing by itself; `ReactorCore` carries it out.
// Everything in it is synchronous but `.run`. Not Sendable: it is made and carried out inside one
// session, so a `.deferred` closure may use the reactor.

/// What an action leads to: mutations, activities, asynchronous steps, in order or side by side.
///
/// Inside a reactor it is written `Effect<Mutation>`. Everything that needs no waiting is applied
/// before the call that brought the action returns.
///
/// Limits: effects nest 500 deep at most (`.concat` in `.concat` and `.merge` in `.merge` do not
/// nest); one turn carries out 100 000 steps without waiting, and 1000 steps of a session wait at
/// once (``EffectLimitReached``). Beyond them the effect fails, the session lives.
public struct ReactorEffect<Mutation: Sendable, State: Sendable, Activity: Sendable> {
    @usableFromInline
    let node: Node

    @inlinable
    init(_ node: Node) { self.node = node }

    // Law: what a plain reactor returns (`just`, `none`) needs no allocation.
    @usableFromInline
    enum Node {
        case none
        case just(Mutation)
        case several([Mutation])
        case tree(Tree)
    }

    // Law: `concat` and `merge` have at least two steps, none of them empty or of their own kind.
    @usableFromInline
    indirect enum Tree {
        case concat([ReactorEffect], depth: Int)
        case merge([ReactorEffect], depth: Int)
        case deferred((State) throws -> ReactorEffect)
        case run(Step)
        case cancel(EffectID)
        case emit(Activity)
        case error(any Error)
    }

    /// The asynchronous part of an effect, not begun.
    @usableFromInline
    struct Step: Sendable {
        let id: EffectID?
        let policy: EffectPolicy
        let work: @Sendable (Sink<Mutation, Activity>) async throws -> Void
    }

    // Releasing a tree recurses into it: this bounds the stack that that needs.
    static var depthLimit: Int { 500 }

    var depth: Int {
        guard case .tree(let tree) = node else { return 0 }
        switch tree {
        case .concat(_, let depth), .merge(_, let depth): return depth
        default: return 0
        }
    }
}
