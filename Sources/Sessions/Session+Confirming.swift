internal import Feeds
internal import Storage

// Replies about positions that this node has not reached: another node may have reached them.
extension Session {
    /// Calls `act` when the journal has said that no other node has continued the session. A
    /// request that another node has to serve gets `moved`. If no other node writes to the journal,
    /// `act` is called at once.
    func confirm(for token: UInt64, then act: @escaping () -> Void) {
        guard table.sharesJournal else { return act() }
        table.read(id, .confirmed) { [self] found, _ in
            switch found {
            case .session(let present) where present === self && isRunning:
                act()
            case .unreadable(let failure): refuse(token, .unreadable(failure))
            default: refuse(token, .failed(.moved(key)))
            }
        }
    }

    private func refuse(_ token: UInt64, _ kind: Reply.Kind) {
        keys?.forget(token)
        table.output.reply(content(kind), to: token)
    }

    /// Replies to a request that the reactor refuses. The state that it was refused for may not be
    /// committed yet, and another node may decide on the session by now.
    func refuse(_ refusal: ActionRefusal, of post: ActionPost) {
        confirm(for: post.token) { [self] in
            answer(content(.refused(refusal, by: registration)), post.token)
        }
    }

    /// Replies to a request whose `If-Match` does not hold.
    func refuseCondition(of post: ActionPost) {
        let content = content(.conditionFailed)
        guard post.condition?.namesOther(than: content.position) ?? false else {
            return answer(content, post.token)
        }
        confirm(for: post.token) { [self] in answer(content, post.token) }
    }
}
