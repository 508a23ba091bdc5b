internal import Feeds
internal import Storage

// Replies about positions that this node has not reached: another node may have reached them.
extension Session {
    /// Calls `act` with nil when the journal has said that no other node has continued the session.
    /// If another node has to serve the request, or the journal cannot be read, calls it with the
    /// failure. If no other node writes to the journal, `act` is called at once.
    private func confirm(then act: @escaping (JournalFailure?) -> Void) {
        guard table.sharesJournal else { return act(nil) }
        table.read(id, .confirmed) { [self] found, _ in
            switch found {
            case .session(let present) where present === self && isRunning: act(nil)
            case .unreadable(let failure): act(failure)
            default: act(.moved(key))
            }
        }
    }

    private func answer(_ content: Reply.Content, whenConfirmedFor token: UInt64) {
        confirm { [self] failure in
            guard let failure else { return answer(content, token) }
            keys?.forget(token)
            let kind: Reply.Kind =
                failure.reason == .moved ? .failed(failure) : .unreadable(failure)
            table.output.reply(self.content(kind), to: token)
        }
    }

    /// Replies to a request that was refused because of the state. That state may not be committed
    /// yet, and by now another node may decide on the session.
    func refuse(_ refusal: ActionRefusal, of post: ActionPost) {
        answer(content(.refused(refusal, by: registration)), whenConfirmedFor: post.token)
    }

    /// Ends an action of a part that was refused, as ``refuse(_:of:)`` does.
    func refusePart(_ error: any Error, then act: @escaping (PartOutcome) -> Void) {
        confirm { [self] failure in
            if let failure { return act(PartOutcome(failure)) }
            answer(.part { act($0 == nil ? .failed(error) : PartOutcome($0)) })
        }
    }

    /// Replies to a request whose `If-Match` does not hold.
    func refuseCondition(of post: ActionPost) {
        let content = content(.conditionFailed)
        guard post.condition?.namesOther(than: content.position) ?? false else {
            return answer(content, post.token)
        }
        answer(content, whenConfirmedFor: post.token)
    }
}
