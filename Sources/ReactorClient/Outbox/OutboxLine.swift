internal import ClientMachine

// A line: words with a space between them, then the texts whose lengths are among the words, one
// after the other, then a line feed. `-` is no value.
//
//   reactor-client-outbox 2 <account>      the first line of the file
//   n <ticket>                             the next ticket
//   q <session> <ticket> <expected position> <settled milliseconds> <reactor> <action>,<action>…
//   s <session> <key> <date> <number of sends> <body>
//   w <session> <key>                      withdrawn
//   d <session> <key>                      done
//   r <session> <ticket> <status> <code> <detail>    refused
//   i <session> <ticket>                   in doubt
//                                          (in the first group each comes after the `q` of its send;
//                                          in form 1 these sends were not stored)
//   x <ticket>                             the program has seen the end of a send
//   g <session> <ticket>                   discarded
//   c <session> <position> <state>         a confirmed state; without a position: forgotten

/// One line of an outbox's file.
enum OutboxLine: Equatable, Sendable {
    /// The form of the file, and the account that it belongs to.
    case head(version: Int, account: String?)
    case nextTicket(TicketNumber)
    case change(OutboxChange)
    case state(SessionName, SavedState?)

    static let version = 2

    func append(to bytes: inout [UInt8]) {
        switch self {
        case .head(let version, let account):
            let account = account.map { Array($0.utf8) }
            Self.append(["reactor-client-outbox", "\(version)"], [account], to: &bytes)
        case .nextTicket(let ticket): Self.append(["n", "\(ticket.number)"], to: &bytes)
        case .change(let change): Self.append(change, to: &bytes)
        case .state(let session, let saved):
            let position = saved?.position.text ?? "-"
            Self.append(["c", session.text, position], [saved?.state], to: &bytes)
        }
    }

    private static func append(_ change: OutboxChange, to bytes: inout [UInt8]) {
        switch change {
        case .queued(let entry):
            let words = [
                "q", entry.session.text, "\(entry.ticket.number)",
                entry.options.expects?.text ?? "-",
                entry.options.settledMilliseconds.map { "\($0)" } ?? "-",
                entry.makes.map { "\($0.utf8.count)" } ?? "-",
                entry.actions.map { "\($0.count)" }.joined(separator: ","),
            ]
            bytes += words.joined(separator: " ").utf8
            bytes.append(UInt8(ascii: " "))
            bytes += (entry.makes ?? "").utf8
            for action in entry.actions { bytes += action }
            bytes.append(UInt8(ascii: "\n"))
        case .sent(let session, let key, let body, let count, let date):
            append(["s", session.text, key.text, "\(date)", "\(count)"], [body], to: &bytes)
        case .withdrawn(let session, let key):
            append(["w", session.text, key.text], to: &bytes)
        case .done(let session, let key): append(["d", session.text, key.text], to: &bytes)
        case .settled(let settlement): append(settlement, to: &bytes)
        case .seen(let ticket): append(["x", "\(ticket.number)"], to: &bytes)
        case .discarded(let ticket, let session):
            append(["g", session.text, "\(ticket.number)"], to: &bytes)
        }
    }

    private static func append(_ settlement: Settlement, to bytes: inout [UInt8]) {
        let words = [settlement.session.text, "\(settlement.ticket.number)"]
        switch settlement.outcome {
        case .refused(let problem):
            append(
                ["r"] + words + ["\(problem.status)"],
                [Array(problem.code.utf8), Array(problem.detail.utf8)], to: &bytes)
        case .inDoubt: append(["i"] + words, to: &bytes)
        }
    }

    private static func append(
        _ words: [String], _ texts: [[UInt8]?] = [], to bytes: inout [UInt8]
    ) {
        let lengths = texts.map { text in text.map { "\($0.count)" } ?? "-" }
        bytes += (words + lengths).joined(separator: " ").utf8
        if !texts.isEmpty { bytes.append(UInt8(ascii: " ")) }
        for text in texts { bytes += text ?? [] }
        bytes.append(UInt8(ascii: "\n"))
    }
}
