// A stream of several sessions, on any loop.
extension StormRequests {
    /// The query, and the vector from which the stream continues: mostly one of these sessions.
    func severalSessions(
        _ session: String, _ fields: inout [String], _ random: inout SeededNumbers
    ) -> [String] {
        var names = [session]
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let other = (sessions + readOnly).randomElement(using: &random) ?? session
            // Sometimes one twice, which is refused.
            if !names.contains(other) || Int.random(in: 0..<20, using: &random) == 0 {
                names.append(other)
            }
        }
        if Int.random(in: 0..<8, using: &random) == 0 { names.append("nobody") }
        if Int.random(in: 0..<40, using: &random) == 0 { names = [] }
        var query = names.map { "session=\($0)" }
        let vector = names.map { entry(of: $0, &random) }.joined(separator: ",")
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: fields.append("Last-Event-ID: \(vector)")
        case 2: query.append("after=\(vector)")
        case 3: query.append("after=\(vector),-")
        default: break
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: query.append("from=start")
        case 1: query.append("from=now")
        case 2: query.append("only=pulses")
        case 3: query.append("only=states,activities")
        case 4: query.append("pulse=alertMessage")
        case 5: query.append("select=/count")
        case 7: query.append("form=patch")
        case 6: query.append("ids=\(Bool.random(using: &random) ? "own" : "none")")
        default: break
        }
        if Int.random(in: 0..<4, using: &random) == 0 { query.append("ping=events") }
        return query
    }

    private func entry(of session: String, _ random: inout SeededNumbers) -> String {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: "-"
        case 1: "x"
        default: place(session, &random) ?? "-"
        }
    }
}
