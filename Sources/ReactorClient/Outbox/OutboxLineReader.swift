internal import ClientMachine

/// Reads the lines of a group.
struct OutboxLineReader {
    private var rest: ArraySlice<UInt8>

    init(_ content: ArraySlice<UInt8>) { rest = content }

    /// Where the next line begins, or where the last one that was read is wrong.
    var offset: Int { rest.startIndex }

    var isAtEnd: Bool { rest.isEmpty }

    /// Nil if there is no line of a known form: damage, since the checksum was right, that a program has
    /// written.
    mutating func next() -> OutboxLine? {
        let start = rest
        guard let line = line() else {
            rest = start
            return nil
        }
        return line
    }

    private mutating func line() -> OutboxLine? {
        guard let kind = word() else { return nil }
        switch kind {
        case "reactor-client-outbox":
            guard let version = number(Int.self) else { return nil }
            // Nothing is known about the rest of a line of a newer version.
            guard (1...OutboxLine.version).contains(version) else {
                return .head(version: version, account: nil)
            }
            guard let texts = texts(1) else { return nil }
            return .head(version: version, account: texts[0].map(Self.text))
        case "n":
            guard let ticket = ticket(), isEnded() else { return nil }
            return .nextTicket(ticket)
        case "c": return state()
        default: return change(kind).map(OutboxLine.change)
        }
    }

    private mutating func change(_ kind: String) -> OutboxChange? {
        if kind == "x" {
            guard let ticket = ticket(), isEnded() else { return nil }
            return .seen(ticket)
        }
        guard let session = word().flatMap({ SessionName($0) }) else { return nil }
        switch kind {
        case "q": return queued(session)
        case "s": return sent(session)
        case "w", "d":
            guard let key = word().flatMap({ RequestKey($0) }), isEnded() else { return nil }
            return kind == "w" ? .withdrawn(session, key) : .done(session, key)
        case "r": return refused(session)
        case "i", "g":
            guard let ticket = ticket(), isEnded() else { return nil }
            return kind == "g"
                ? .discarded(ticket, session)
                : .settled(Settlement(ticket: ticket, session: session, outcome: .inDoubt))
        default: return nil
        }
    }

    private mutating func queued(_ session: SessionName) -> OutboxChange? {
        guard let ticket = ticket(), let expects = word(), let settled = word(),
            let makes = word(), let lengths = word()
        else { return nil }
        let position = StreamPosition(expects)
        let milliseconds = Int(settled)
        guard position != nil || expects == "-", milliseconds != nil || settled == "-" else {
            return nil
        }
        var reactor: String?
        if makes != "-" {
            guard let text = Int(makes).flatMap({ text($0) }) else { return nil }
            reactor = Self.text(text)
        }
        var actions: [[UInt8]] = []
        for length in lengths.split(separator: ",", omittingEmptySubsequences: false) {
            guard let action = Int(length).flatMap({ text($0) }) else { return nil }
            actions.append(action)
        }
        guard isEnded() else { return nil }
        return .queued(
            OutboxEntry(
                ticket: ticket, session: session, actions: actions,
                options: SendOptions(expects: position, settledMilliseconds: milliseconds),
                makes: reactor))
    }

    private mutating func sent(_ session: SessionName) -> OutboxChange? {
        guard let key = word().flatMap({ RequestKey($0) }), let date = number(Int64.self),
            let count = number(Int.self), let texts = texts(1), let body = texts[0]
        else { return nil }
        return .sent(session, key, body: body, count: count, date: date)
    }

    private mutating func refused(_ session: SessionName) -> OutboxChange? {
        guard let ticket = ticket(), let status = number(Int.self), let texts = texts(2),
            let code = texts[0], let detail = texts[1]
        else { return nil }
        let problem = MachineProblem(
            status: status, code: Self.text(code), detail: Self.text(detail))
        return .settled(
            Settlement(ticket: ticket, session: session, outcome: .refused(problem)))
    }

    private mutating func state() -> OutboxLine? {
        guard let session = word().flatMap({ SessionName($0) }), let position = word(),
            let texts = texts(1)
        else { return nil }
        if position == "-" { return texts[0] == nil ? .state(session, nil) : nil }
        guard let position = StreamPosition(position) else { return nil }
        return .state(session, SavedState(position: position, state: texts[0]))
    }

    // MARK: Parts of a line

    /// The next word, with the character that ends it: a space, or the line feed, which stays.
    private mutating func word() -> String? {
        let word = rest.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(word.count)
        guard !word.isEmpty, let end = rest.first else { return nil }
        if end == UInt8(ascii: " ") { rest = rest.dropFirst() }
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        word().flatMap { Number($0) }
    }

    private mutating func ticket() -> TicketNumber? { number(UInt64.self).map { TicketNumber($0) } }

    /// The lengths of the last texts of a line, then the texts and the end of the line.
    private mutating func texts(_ count: Int) -> [[UInt8]?]? {
        let lengths = (0..<count).compactMap { _ in word() }
        guard lengths.count == count else { return nil }
        var texts: [[UInt8]?] = []
        for length in lengths {
            if length == "-" {
                texts.append(nil)
            } else {
                guard let text = Int(length).flatMap({ text($0) }) else { return nil }
                texts.append(text)
            }
        }
        return isEnded() ? texts : nil
    }

    private mutating func text(_ length: Int) -> [UInt8]? {
        guard length >= 0, length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return Array(rest.prefix(length))
    }

    private mutating func isEnded() -> Bool {
        guard rest.first == UInt8(ascii: "\n") else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
