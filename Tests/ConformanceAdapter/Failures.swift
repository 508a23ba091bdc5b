import ReactorClient

/// How failures are named.
extension JSONValue {
    static func failure(_ kind: String, _ detail: String) -> JSONValue {
        ["kind": .string(kind), "detail": .string(detail)]
    }

    static func refused(_ problem: ProblemDetails) -> JSONValue {
        [
            "kind": "refused", "status": .integer(Int64(problem.status)),
            "code": .string(problem.code), "detail": .string(problem.detail),
        ]
    }

    init(_ failure: SendFailure) {
        let detail = failure.description
        self =
            switch failure {
            case .refused(let problem): .refused(problem)
            case .positionChanged(let position):
                [
                    "kind": "position_changed", "position": .string(position.text),
                    "detail": .string(detail),
                ]
            case .outboxFull: .failure("outbox_full", detail)
            case .outboxUnavailable, .stored: .failure("outbox_unavailable", detail)
            case .notEncodable: .failure("not_encodable", detail)
            case .empty, .dismissed: .failure("empty", detail)
            case .inDoubt: .failure("in_doubt", detail)
            case .ended: .failure("ended", detail)
            case .discarded: .failure("discarded", detail)
            case .cancelled: .failure("cancelled", detail)
            case .closed: .failure("closed", detail)
            }
    }

    init(_ failure: ClientFailure) {
        let detail = failure.description
        self =
            switch failure {
            case .refused(let problem): .refused(problem)
            case .badAddress: .failure("bad_address", detail)
            case .badSessionID: .failure("bad_session_id", detail)
            case .unreachable: .failure("unreachable", detail)
            case .undecodable: .failure("undecodable", detail)
            case .ended(let reason):
                ["kind": "ended", "reason": .string("\(reason)"), "detail": .string(detail)]
            case .followedOtherwise: .failure("followed_otherwise", detail)
            case .outboxUnavailable: .failure("outbox_unavailable", detail)
            case .exhausted: .failure("exhausted", detail)
            case .closed: .failure("closed", detail)
            }
    }

    init(_ receipt: Receipt) {
        self = [
            "position": .string(receipt.position.text),
            "version": receipt.version.map { .integer(Int64($0)) } ?? .null,
            "rejected": .array(receipt.rejected.map { .integer(Int64($0)) }),
        ]
    }
}
