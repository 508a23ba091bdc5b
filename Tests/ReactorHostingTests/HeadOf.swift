import Testing
import Wire

@testable import ReactorHosting

/// A request as the service gets it, read from its text.
struct HeadOf {
    let head: RequestHead
    var request: Request {
        var request = Request()
        request.head = head
        return request
    }

    /// - Parameter fields: whole lines, without their ends.
    init(_ method: String, _ target: String, _ fields: String...) throws {
        try self.init(method, target, fields)
    }

    /// - Parameter host: Nil if it is among the fields.
    init(_ method: String, _ target: String, _ fields: [String], host: String? = "h") throws {
        let hosts = host.map { ["Host: \($0)"] } ?? []
        let lines = ["\(method) \(target) HTTP/1.1"] + hosts + fields + ["", ""]
        let text = Array(lines.joined(separator: "\r\n").utf8)
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        let span = text.span
        let progress = try reader.next(span, at: &offset, head: &head, body: &body)
        try #require(progress == .complete)
        self.head = head
    }
}
