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
                "the body has \(body.count) bytes; the limit here is \(LargeBodies.minimumBytes)")
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

    func queryItems(limit: Int = 100) throws(Problem) -> QueryItems {
        do {
            return try QueryItems(head, limit: limit)
        } catch {
            throw Problem(error)
        }
    }

    /// Refuses a parameter that the route does not have: a misspelt one would have no effect.
    ///
    /// Names are compared as they are sent; only an unknown one is decoded.
    func refuseUnknownParameters() throws(Problem) {
        guard let query = head.query, let known = route?.parameters else { return }
        let items = head.bytes[query].split(separator: UInt8(ascii: "&"))
        for (index, item) in items.enumerated() {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            if !known.contains(where: { $0.utf8.elementsEqual(name) }) {
                try refuse(name, index + 1, unlessIn: known)
            }
        }
    }

    private func refuse(
        _ name: ArraySlice<UInt8>, _ item: Int, unlessIn known: [String]
    ) throws(Problem) {
        let text: String
        do {
            text = try PercentEncoding.decoded(
                head.bytes, name.indices, ofItem: item)
        } catch {
            throw Problem(error)
        }
        guard !known.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else { return }
        let list = known.isEmpty ? "none" : known.joined(separator: ", ")
        throw Problem(
            400, "unknown_parameter",
            "the query has the parameter \(text); this request accepts: \(list)")
    }

    func accepts(_ type: MediaType) -> Bool { AcceptedTypes(head).weight(of: type) > 0 }

    func requireAccepted(_ types: MediaType...) throws(Problem) {
        guard !types.contains(where: accepts) else { return }
        let sent = head.values(of: .accept).map(head.text).joined(separator: ", ")
        throw Problem(
            406, "not_acceptable",
            "Accept is \(sent); the response is \(types.map(\.text).joined(separator: " or "))")
    }
}

extension QueryItems {
    func pageLimit() throws(Problem) -> Int {
        let text = first("limit") ?? "100"
        guard let limit = Int(text), (1...1_000).contains(limit) else {
            throw .badParameter("limit", text, "send a whole number from 1 to 1000")
        }
        return limit
    }

    /// The value of a parameter that has one of these words; nil without it.
    func word(_ name: String, of words: [String]) throws(Problem) -> String? {
        guard let word = first(name) else { return nil }
        guard words.contains(word) else {
            throw .badParameter(name, word, "send \(words.joined(separator: " or "))")
        }
        return word
    }
}

extension Problem {
    /// A parameter of the query with a value that it cannot have.
    static func badParameter(_ name: String, _ value: String, _ advice: String) -> Problem {
        Problem(400, "bad_\(name)", "\(name) is \(value); \(advice)")
    }
}
