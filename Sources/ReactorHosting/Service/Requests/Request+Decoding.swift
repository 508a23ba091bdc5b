internal import JSONCoding
internal import Sessions
internal import Wire

// Decodes the parts of a request that several endpoints share.
extension Request {
    /// RFC 9110 §8.3: the body's type decides how it is read.
    func requireJSON() throws(Problem) {
        if head.range(of: .contentEncoding) != nil { try refuseCoding() }
        guard let range = head.range(of: .contentType) else {
            throw Problem(
                415, "media_type_missing", "Content-Type is missing; send application/json")
        }
        // The form of nearly every client.
        if head.matches(range, ignoringCase: "application/json") { return }
        let text = head.text(range)
        let type = text.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        guard type.lowercased() == "application/json" else {
            throw Problem(
                415, "unsupported_media_type", "Content-Type is \(text); send application/json")
        }
    }

    /// For bodies that name a few things: to read a large one would occupy the loop.
    func requireSmallBody() throws(Problem) {
        guard body.count <= LargeBodies.minimumBytes else {
            throw Problem(
                413, "body_too_large",
                "the body has \(body.count) bytes; here it has at most \(LargeBodies.minimumBytes)")
        }
    }

    /// RFC 9110 §8.4: a body in an unknown coding is refused and not read as it is.
    private func refuseCoding() throws(Problem) {
        let coding = head.text(of: .contentEncoding) ?? ""
        guard coding.lowercased() == "identity" else {
            throw Problem(
                415, "unsupported_content_encoding",
                "Content-Encoding is \(coding); send the body without one",
                fields: [("Accept-Encoding", "identity")])
        }
    }

    func queryItems() throws(Problem) -> QueryItems {
        do {
            return try QueryItems(head)
        } catch {
            throw Problem(error)
        }
    }

    /// Whether `Accept` contains one of these types; one with a low weight is accepted, too (RFC
    /// 9110 §12.5.1).
    ///
    /// - Parameter orMissing: the result without the field.
    func accepts(_ types: [String], orMissing: Bool) -> Bool {
        guard let accept = head.text(of: .accept) else { return orMissing }
        return accept.split(separator: ",").contains {
            types.contains($0.prefix { $0 != ";" }.trimmingSpaces.lowercased())
        }
    }

    /// - Throws: 406 if `Accept` names none of these types.
    func requireAccepted(_ types: [String], _ detail: String) throws(Problem) {
        guard !accepts(types, orMissing: true) else { return }
        throw Problem(
            406, "not_acceptable",
            "Accept is \(head.text(of: .accept) ?? ""); the response is \(detail)")
    }
}

extension QueryItems {
    /// `?limit=` of a page, 1 to 1000; default 100.
    func pageLimit() throws(Problem) -> Int {
        let text = first("limit") ?? "100"
        guard let limit = Int(text), (1...1_000).contains(limit) else {
            throw Problem(
                400, "bad_limit", "limit is \(text); send a whole number from 1 to 1000")
        }
        return limit
    }
}

extension Substring {
    /// The text without spaces and tabs around it (RFC 9110 §5.6.3).
    var trimmingSpaces: Substring {
        var rest = drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
