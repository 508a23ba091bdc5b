// Design: a value that describes work. It does nothing by itself; `ReactorCore` runs it. All of it
// is synchronous except `.run`. Not Sendable: it is made and run inside one session, so a
// `.deferred` closure may use the reactor.

/// The results of an action: mutations, activities, asynchronous steps, in sequence or concurrent.
///
/// Inside a reactor it is written `Effect<Mutation>`. Its synchronous part is applied before the
/// call that sent the action returns.
///
/// Limits: effects nest at most 500 deep (`.concat` in `.concat` and `.merge` in `.merge` do not
/// nest); one turn runs at most 100 000 steps without waiting, where each mutation is a step; and
/// at most 1000 steps of a session run at once (``EffectLimitReached``). Beyond them the effect
/// fails, the session lives. Mutations applied before stay; of a list of mutations that would
/// exceed the limit (`.of`, `.from`, a `.concat` of nothing but mutations) none is applied.
public struct ReactorEffect<
    Mutation: Sendable, State: Sendable, Activity: Sendable, Action: Sendable
> {
    @usableFromInline
    let node: Node

    @inlinable
    init(_ node: Node) { self.node = node }

    // Invariant: the effects of a plain reactor (`just`, `none`) need no allocation.
    @usableFromInline
    enum Node {
        case none
        case just(Mutation)
        case several([Mutation])
        case tree(EffectPart)
    }

    typealias Leaf = EffectLeaf<Mutation, State, Activity, Action>

    init(leaf: Leaf.Content) { node = .tree(Leaf(leaf)) }

    init(part kind: EffectPart.Kind) { node = .tree(EffectPart(kind)) }
}
