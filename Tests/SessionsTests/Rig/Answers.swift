import Feeds
import Sessions
import Storage

// Replies in the notation that tests compare.
extension Reply.Content {
    /// `kind version number`, with the kind's associated values.
    var line: String {
        "\(word) v\(version) n\(position.number)"
    }

    private var word: String {
        switch kind {
        case .created(let isNew): isNew ? "created" : "greeted"
        case .received(let receipt):
            receipt.rejected.isEmpty ? "received" : "rejected \(receipt.rejected)"
        case .unsettled(let receipt):
            receipt.rejected.isEmpty ? "unsettled" : "unsettled \(receipt.rejected)"
        case .conditionFailed: "conditionFailed"
        case .state(let state, let version):
            "state \(String(decoding: state, as: UTF8.self)) of \(version)"
        case .versionUnknown(let kept): "versionUnknown \(kept.lowerBound)...\(kept.upperBound)"
        case .runtime(let runtime): "runtime \(String(decoding: runtime, as: UTF8.self))"
        case .stub(let stub): "stub \(String(decoding: stub, as: UTF8.self))"
        case .logPage(let page): "page \(String(decoding: page, as: UTF8.self))"
        case .subscribed: "subscribed"
        case .tooManySelections(let limit): "tooManySelections \(limit)"
        case .tooManySubscribers(let limit): "tooManySubscribers \(limit)"
        case .ended: "ended"
        case .failed(let failure): "failed \(failure.reason)"
        case .gone: "gone"
        case .overBudget: "overBudget"
        case .unreadable: "unreadable"
        case .unencodable(let failure): "unencodable \(failure)"
        case .refused(let refusal, _): "refused \(refusal)"
        case .replayed(let answer): "replayed \(String(decoding: answer.body, as: UTF8.self))"
        case .keyRunning: "keyRunning"
        case .keyReused: "keyReused"
        }
    }
}

extension Rig {
    /// The reply to the token; `-` while there is none.
    func line(_ token: UInt64) -> String {
        answer(token)?.line ?? "-"
    }

    /// The state as a GET shows it now. Commits everything pending first.
    func state(_ session: Session, version: UInt64? = nil) -> String {
        let token = read(session, version: version)
        settleAll()
        guard case .state(let state, _)? = answer(token)?.kind else { return line(token) }
        return String(decoding: state, as: UTF8.self)
    }

    var notes: [String] {
        output.failures.map { note in
            switch note {
            case .failed(let place, let error): "failed \(place) \(error)"
            case .slow(let turn, _): "slow \(turn.action)"
            case .unencodable(let what, _): "unencodable \(what)"
            case .unnamedActivity(let text): "unnamedActivity \(text)"
            case .dropped(let what): "dropped \(what)"
            case .commitFailed(let detail): "commitFailed \(detail)"
            case .unreadable(let what): "unreadable \(what)"
            }
        }
    }
}
