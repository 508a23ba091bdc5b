/// Defaults for a saved value: missing members of objects are read from this document.
///
/// Design: used only if a required member is missing, so that a complete value costs nothing more.
/// The object in this document is found by its path; inside an array there is none, because
/// elements have no names. A missing optional member is nil and not read from here: `nil` is saved
/// by omitting the member.
final class JSONFallback {
    private let make: () -> [UInt8]?
    private var made: JSONDocument??

    init(_ make: @escaping () -> [UInt8]?) {
        self.make = make
    }

    private var document: JSONDocument? {
        if let made { return made }
        let document = make().flatMap { try? JSONDocument($0) }
        made = .some(document)
        return document
    }

    /// The member's node and its document, if the object at the same path has it here.
    ///
    /// - Parameter isCase: Of a `TaggedCodable` enum. Another case has no fields for this one.
    func member(
        _ key: String, of object: Int, isCase: Bool, in saved: JSONDocument
    ) -> (document: JSONDocument, node: Int)? {
        guard let document, let place = place(of: object, in: saved, document),
            !isCase || tag(of: object, in: saved) == tag(of: place, in: document),
            let node = document.member(key, of: place)
        else { return nil }
        return (document, node)
    }

    private func place(of object: Int, in saved: JSONDocument, _ document: JSONDocument) -> Int? {
        var place = 0
        for step in saved.path(to: object) {
            guard step.intValue == nil, document.nodes[place].kind == .object,
                let next = document.member(step.stringValue, of: place)
            else { return nil }
            place = next
        }
        return document.nodes[place].kind == .object ? place : nil
    }

    private func tag(of object: Int, in document: JSONDocument) -> String? {
        document.member(JSONTag.name, of: object).flatMap {
            document.nodes[$0].kind == .string ? document.text(at: $0) : nil
        }
    }
}
