import Sessions
import Storage

// Each post has a client, or none, by its mark: the log has the client with each
// action of the post.
extension WholeLife {
    static func subject(of mark: Int) -> String? {
        mark % 3 == 0 ? nil : "client \(mark % 3)"
    }

    /// The first action of each post has its mark.
    func checkSubjects() {
        for entry in rig.journal.all where entry.kind == .note {
            let text = String(decoding: entry.content, as: UTF8.self)
            guard text.hasPrefix(#"{"kind":"action."#), let mark = mark(in: text) else { continue }
            let subject = Self.subject(of: mark)
            let isShown =
                subject.map { text.contains(#","subject":"\#($0)""#) }
                ?? !text.contains(#""subject""#)
            if !isShown { blame("\(mark) is of \(subject ?? "nobody"), and the log has \(text)") }
        }
        for action in rig.journal.keptBatch.started {
            let text = String(decoding: action.content, as: UTF8.self)
            guard let mark = mark(in: text) else { continue }
            if action.subject != Self.subject(of: mark) {
                blame("\(mark) runs for \(action.subject ?? "nobody")")
            }
        }
    }

    func mark(in text: String) -> Int? {
        for field in [#""number":1"#, #""a":1"#] {
            guard let start = text.firstRange(of: field)?.upperBound else { continue }
            let digits = "1" + text[start...].prefix { $0.isNumber }
            if digits.count >= 7, let mark = Int(digits) { return mark }
        }
        return nil
    }
}
