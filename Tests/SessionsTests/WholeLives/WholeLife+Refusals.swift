import Feeds
import Reactors
import Sessions
import Storage

// Some posts are refused by their reactor. Nothing of such a post happens.
extension WholeLife {
    /// The mark decides, so that the rest of a life stays the same.
    private func isDeclined(_ mark: Int) -> Bool { mark.isMultiple(of: 5) }

    /// A last action for the body. Because of it a reactor refuses the whole body; a Cycler refuses
    /// only this action.
    func decline(_ id: String, _ mark: Int) -> String {
        guard isDeclined(mark) else { return "" }
        switch reactors[id] {
        case "player": return ",{\"type\":\"decline\",\"number\":\(mark)}"
        case "clerk": return ",{\"type\":\"decline\"}"
        case "alarm": return ",{\"type\":\"decline\",\"number\":\(mark)}"
        default: return ",\(Post.decline(mark, late: mark.isMultiple(of: 2)))"
        }
    }

    /// A request was refused.
    func record(_ error: any Error, _ token: UInt64) {
        guard case ActionRefusal.refused(let refusal, let index)? = error as? ActionRefusal
        else { return }
        declined.insert(token)
        let mark = requests[token]?.mark
        if mark.map(isDeclined) != true { blame("\(refusal) of \(mark ?? 0)") }
        if refusal.code != "declined" || (index ?? 0) < 2 { blame("\(refusal) at \(index ?? -1)") }
    }

    /// A refused post leaves no record, note, stored answer or running effect. If it is sent again,
    /// it is refused again.
    func checkDeclined() {
        for entry in everything where !stubbed.contains(entry.session) {
            check(String(decoding: entry.content, as: UTF8.self), of: entry.session)
            for event in entry.events {
                check(String(decoding: event.data, as: UTF8.self), of: entry.session)
            }
        }
        for action in rig.journal.keptBatch.started where !stubbed.contains(action.session) {
            check(String(decoding: action.content, as: UTF8.self), of: action.session)
        }
        for answer in rig.output.answers {
            guard let request = requests[answer.token], isWholly(request),
                !stubbed.contains(request.id)
            else { continue }
            switch answer.content.kind {
            case .received, .unsettled, .replayed: blame("\(request) is declined, and acknowledged")
            default: break
            }
        }
        let keys = Set(requests.values.filter(isWholly).compactMap { $0.mark.map { "key \($0)" } })
        for answer in rig.journal.keptBatch.answers where !stubbed.contains(answer.session) {
            let key = answer.key.prefix { $0 != "\n" }
            if keys.contains(String(key)) { blame("\(key) is declined, and has an answer") }
        }
    }

    /// Those that refuse a whole post.
    private static let refusing: Set = ["ledger", "player", "alarm"]

    /// Whether the whole post is refused.
    private func isWholly(_ request: Request) -> Bool {
        guard let mark = request.mark, isDeclined(mark) else { return false }
        return Self.refusing.contains(reactors[request.id] ?? "")
    }

    private func check(_ text: String, of id: String) {
        if text.contains("decline") || text.contains("\(Clerk.declined)") {
            blame("\(id) has \(text), which was refused")
        }
        guard Self.refusing.contains(reactors[id] ?? "") else { return }
        guard let mark = mark(in: text) ?? Int(text), mark > 1_000_000, isDeclined(mark) else {
            return
        }
        blame("\(id) has \(text) of a post that was refused")
    }
}
