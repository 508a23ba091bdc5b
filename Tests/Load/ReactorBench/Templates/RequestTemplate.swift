// A request as a template. A template without placeholders is rendered once; any other is rendered
// for each request into a buffer that is reused.

/// Method, path, fields and body; each can contain placeholders.
struct RequestTemplate {
    private let head: Template
    private let body: Template
    private let hasBody: Bool
    private let isRaw: Bool
    private let constant: [UInt8]?

    /// Whether the body carries the mark with which subscribers check the events that they receive.
    var isMarked: Bool { head.names(.mark) || body.names(.mark) }

    /// Builds the template.
    ///
    /// `headers` are `Name: value` lines. `Host` is added, and `Content-Length` if there is a body,
    /// and `Content-Type: application/json` unless a header names another type.
    init(
        method: String, path: String, headers: [String], body: String?, authority: String,
        run: String
    ) {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n"
        for header in headers { head += header + "\r\n" }
        let namesType = headers.contains { $0.lowercased().hasPrefix("content-type:") }
        if body != nil, !namesType { head += "Content-Type: application/json\r\n" }
        self.head = Template(head, run: run)
        self.body = Template(body ?? "", run: run)
        hasBody = body != nil
        isRaw = false
        guard self.head.isConstant, self.body.isConstant else {
            constant = nil
            return
        }
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        Self.append(self.head, self.body, hasBody, to: &bytes, TemplateValues(), &scratch)
        constant = bytes
    }

    /// A request whose bytes are sent unchanged: mostly malformed ones.
    init(raw text: String, run: String) {
        head = Template(text, run: run)
        body = Template("", run: run)
        isRaw = true
        hasBody = false
        constant = nil
    }

    /// Appends a whole request; `scratch` is working memory that the caller owns.
    func append(to bytes: inout [UInt8], _ values: TemplateValues, scratch: inout [UInt8]) {
        if let constant {
            bytes.append(contentsOf: constant)
        } else if isRaw {
            head.append(to: &bytes, values)
        } else {
            Self.append(head, body, hasBody, to: &bytes, values, &scratch)
        }
    }

    private static func append(
        _ head: Template, _ body: Template, _ hasBody: Bool, to bytes: inout [UInt8],
        _ values: TemplateValues, _ scratch: inout [UInt8]
    ) {
        head.append(to: &bytes, values)
        scratch.removeAll(keepingCapacity: true)
        if hasBody {
            body.append(to: &scratch, values)
            bytes.append(contentsOf: "Content-Length: ".utf8)
            bytes.appendDecimal(UInt64(scratch.count))
            bytes.append(0x0D)
            bytes.append(0x0A)
        }
        bytes.append(0x0D)
        bytes.append(0x0A)
        bytes.append(contentsOf: scratch)
    }
}
