// Design: a value that says what to do. It does nothing by itself; `ReactorCore` carries it out.
// Everything in it is synchronous but `.run`. Not Sendable: it is made and carried out inside one
// session, so a `.deferred` closure may use the reactor.

/// The results of an action: mutations, activities, asynchronous steps, in order or side by side.
///
/// Inside a reactor it is written `Effect<Mutation>`. Everything that needs no waiting is applied
/// before the call that brought the action returns.
///
/// Limits: effects nest 500 deep at most (`.concat` in `.concat` and `.merge` in `.merge` do not
/// nest); one turn carries out 100 000 steps without waiting, where each mutation is a step; and 1000
/// steps of a session wait at once (``EffectLimitReached``). Beyond them the effect fails, the
/// session lives. What was applied before stays; of a list of mutations that would pass the limit
/// (`.of`, `.from`, a `.concat` of nothing but mutations) none is applied.
public struct ReactorEffect<Mutation: Sendable, State: Sendable, Activity: Sendable> {
    @usableFromInline
    let node: Node

    @inlinable
    init(_ node: Node) { self.node = node }

    // Invariant: what a plain reactor returns (`just`, `none`) needs no allocation.
    @usableFromInline
    enum Node {
        case none
        case just(Mutation)
        case several([Mutation])
        case tree(EffectPart)
    }

    typealias Leaf = EffectLeaf<Mutation, State, Activity>

    init(leaf: Leaf.Content) { node = .tree(Leaf(leaf)) }

    init(part kind: EffectPart.Kind) { node = .tree(EffectPart(kind)) }
}
