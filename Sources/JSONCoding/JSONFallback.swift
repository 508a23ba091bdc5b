/// Defaults for a saved value: members of objects that it lacks are taken from here.
///
/// Design: asked only where a member is missing that the type can't do without, so that a value
/// that has everything costs nothing more. The place in this document is found by the path; inside
/// of an array there is none, for its elements have no names. A member that the type can do without
/// is nil, not this: `nil` is saved by leaving the member out.
final class JSONFallback {
    private let make: () -> [UInt8]?
    private var made: JSONDocument??

    /// - Parameter make: the document, called once and only if it is needed.
    init(_ make: @escaping () -> [UInt8]?) {
        self.make = make
    }

    private var document: JSONDocument? {
        if let made { return made }
        let document = make().flatMap { try? JSONDocument($0) }
        made = .some(document)
        return document
    }

    /// The member's node and its document, if the object at the same place has it here.
    ///
    /// - Parameter isCase: the object is a case of a `TaggedCodable` enum: another case has no
    ///   fields for this one.
    func member(
        _ key: String, of object: Int, isCase: Bool, in saved: JSONDocument
    ) -> (document: JSONDocument, node: Int)? {
        guard let document, let place = place(of: object, in: saved, document),
            !isCase || tag(of: object, in: saved) == tag(of: place, in: document),
            let node = document.member(key, of: place)
        else { return nil }
        return (document, node)
    }

    /// The object at the same place.
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
