// Text with placeholders that are filled in per request. Only the known names are placeholders:
// every other brace is literal, because the most common body is JSON.

/// The values of the placeholders in one request.
struct TemplateValues {
    var connection = 0
    var number = 0
    var stream = 0
    /// The indices of the sessions of a stream that has several.
    var sessions: [Int] = []
    var mark: Mark?
}

/// A parsed template.
struct Template {
    private enum Piece {
        case literal([UInt8])
        case place(Placeholder)
    }

    private var pieces: [Piece] = []
    private let run: [UInt8]

    /// Parses `text`. It cannot fail: text that is not a placeholder is literal.
    init(_ text: String, run: String) {
        self.run = Array(run.utf8)
        var literal: [UInt8] = []
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            literal += rest[..<open].utf8
            let inner = rest[rest.index(after: open)...]
            if let close = inner.firstIndex(of: "}"),
                let place = Placeholder(rawValue: String(inner[..<close]))
            {
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = []
                pieces.append(.place(place))
                rest = inner[inner.index(after: close)...]
            } else {
                literal.append(0x7B)
                rest = inner
            }
        }
        literal += rest.utf8
        if !literal.isEmpty { pieces.append(.literal(literal)) }
    }

    /// Whether the text is the same for every request.
    var isConstant: Bool {
        pieces.allSatisfy {
            if case .literal = $0 { true } else { false }
        }
    }

    /// Whether the template contains one of `places`.
    func names(_ places: Placeholder...) -> Bool {
        pieces.contains {
            if case .place(let place) = $0 { places.contains(place) } else { false }
        }
    }

    /// Appends the text with its placeholders filled in.
    func append(to bytes: inout [UInt8], _ values: TemplateValues) {
        for piece in pieces {
            switch piece {
            case .literal(let literal): bytes.append(contentsOf: literal)
            case .place(let place): append(place, to: &bytes, values)
            }
        }
    }

    /// The text with its placeholders filled in.
    func text(_ values: TemplateValues) -> String {
        var bytes: [UInt8] = []
        append(to: &bytes, values)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func append(_ place: Placeholder, to bytes: inout [UInt8], _ values: TemplateValues) {
        switch place {
        case .connection, .publisher: bytes.appendDecimal(UInt64(values.connection))
        case .number: bytes.appendDecimal(UInt64(values.number))
        case .index: bytes.appendDecimal(UInt64(values.stream))
        case .run: bytes.append(contentsOf: run)
        case .mark: values.mark?.append(to: &bytes)
        case .session, .stream: appendSession(values.stream, to: &bytes)
        case .sessions:
            for (place, session) in values.sessions.enumerated() {
                bytes.append(contentsOf: (place == 0 ? "session=" : "&session=").utf8)
                appendSession(session, to: &bytes)
            }
        }
    }

    private func appendSession(_ index: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: run)
        bytes.append(0x2D)
        bytes.appendDecimal(UInt64(index))
    }
}
