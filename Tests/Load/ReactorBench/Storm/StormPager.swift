/// Reads pages of a session's log at the edge where it is trimmed, one after the other.
struct StormPager {
    /// The number after which the outstanding request's page starts; nil if none is outstanding.
    private var after: UInt64?
    private var limit = 1

    /// The next request; nil while the session's generation is unknown.
    mutating func request(
        to session: String, kept: Int, host: String, _ ledger: TortureLedger,
        _ random: inout SeededNumbers
    ) -> [UInt8]? {
        guard let epoch = ledger.epoch(of: 0) else { return nil }
        var position = EventID()
        position.epoch = epoch
        position.part = EventID.whole
        let newest = Int(clamping: ledger.version(of: 0))
        let place = newest - kept + Int.random(in: -10...10, using: &random)
        position.number = UInt64(max(0, place))
        limit = Int.random(in: 0..<8, using: &random) == 0 ? 100 : 1
        after = position.number
        var line = Array("GET /v1/sessions/\(session)/log?after=".utf8)
        position.append(to: &line, scheme: .consecutive)
        return line + Array("&limit=\(limit) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
    }

    /// The fault of the response.
    mutating func answered(_ status: Int, _ body: [UInt8]) -> String? {
        guard let after else { return "\(status) that no page was asked for" }
        self.after = nil
        if AnswerRules.isRefusal(status) || AnswerRules.isUnknown(status) { return nil }
        guard status == 200 else { return "\(status) to a page of the log" }
        // The page starts directly after the requested number, unless it reports a reset.
        guard !body.starts(with: Array("{\"reset\"".utf8)),
            let first = AnswerRules.position(in: body), first.number != after + 1
        else { return nil }
        return "the page after \(after) begins with \(first.number)"
    }

    mutating func lost() { after = nil }
}
