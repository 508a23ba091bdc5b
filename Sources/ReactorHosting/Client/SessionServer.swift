internal import ArgumentParser
internal import JSONCoding
internal import Sockets
internal import Wire

/// The server of a command on sessions.
struct SessionServer {
    /// The longest silence: longer than any response takes, and than two heartbeats.
    private static let timeout = Duration.seconds(40)
    /// How often a request that is safe to repeat is sent.
    private static let attempts = 5

    private let address: ListenAddress
    private let fields: [(name: String, value: String)]

    /// - Parameters:
    ///   - text: `http://host:port` or `unix:PATH`.
    ///   - token: A bearer token, or nil.
    init(_ text: String, token: String?) throws(ValidationError) {
        guard token.map(Self.isVisible) != false else {
            throw ValidationError("the token has characters that no token has")
        }
        guard !text.hasPrefix("https:") else {
            throw ValidationError(
                "there is no TLS: use curl for \(text), or a tunnel: ssh -L 8080:127.0.0.1:8080 HOST"
            )
        }
        let isPath = text.hasPrefix("unix:")
        let host = isPath ? text : String(text.dropFirst(7).trimmed { $0 == "/" })
        let isHost =
            text.hasPrefix("http://") && Self.isVisible(host)
            && !host.contains(where: { "/?#@".contains($0) })
        guard isPath || isHost,
            let address = OperationsAddress(host) ?? OperationsAddress("\(host):80")
        else {
            throw ValidationError("no server is \(text): expected http://host:port or unix:PATH")
        }
        self.address = address.listenAddress
        fields =
            [("Host", isPath ? "localhost" : host)]
            + (token.map { [("Authorization", "Bearer \($0)")] } ?? [])
    }

    /// Whether the text can be a part of a field of a request.
    static func isVisible(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Sends a request, and waits for the head of the response, whatever its status is.
    func open(_ request: PlainRequest) throws(ExchangeFailure) -> HTTPExchange {
        var request = request
        request.fields += fields
        return try HTTPExchange(request, at: address, timeout: Self.timeout)
    }

    /// The JSON of a response with a 2xx, on one line; empty for 204.
    func json(_ request: PlainRequest) throws(ExchangeFailure) -> [UInt8] {
        var exchange = try open(request)
        let head = exchange.head
        let body = try exchange.body()
        if head.status == 204 { return body }
        guard 200..<300 ~= head.status else { throw ExchangeFailure(head, body) }
        // A state may nest as deep as JSON may, and is inside a document.
        guard head.mediaType == "application/json", JSON.isLine(body, around: 8) else {
            throw .foreign(status: head.status, type: head.mediaType)
        }
        return body
    }

    /// The same for a request that is carried out once, however often it arrives: sends it again if
    /// its response is lost, and if the server says when.
    func repeated(_ request: PlainRequest) throws(ExchangeFailure) -> [UInt8] {
        var (attempt, isInDoubt) = (1, false)
        while true {
            do throws(ExchangeFailure) {
                return try json(request)
            } catch {
                if case .lost = error { isInDoubt = true }
                var pause = isInDoubt && error.exitStatus == 69 ? 1 : nil
                if case .refused(_, let seconds?) = error { pause = min(max(seconds, 0), 10) }
                guard attempt < Self.attempts, let pause else { throw error }
                CommandOutput.report("\(error); trying again")
                CommandOutput.sleep(milliseconds: 1_000 * pause)
                attempt += 1
            }
        }
    }

    /// Reads pages from the first one on, until there is none or `limit` elements were read.
    ///
    /// - Parameters:
    ///   - target: The path, `?`, and the items of the query, each with `&` after it.
    ///   - member: The name of the array of elements in a page.
    ///   - act: Called with each page and its elements.
    /// - Returns: Whether there are more elements.
    func eachPage(
        _ target: String, of member: String, after first: String? = nil, limit: Int,
        _ act: ([UInt8], [[UInt8]]) throws -> Void
    ) throws -> Bool {
        guard limit > 0 else { throw ValidationError("--limit is \(limit): expected 1 or more") }
        var (after, rest) = (first, limit)
        repeat {
            let position = after.map { "&after=" + PercentEncoding.encoded($0) } ?? ""
            let page = try json(PlainRequest("\(target)limit=\(min(rest, 1_000))\(position)"))
            guard let array = page.member(member), let elements = JSON.elements(of: array) else {
                throw ExchangeFailure.unusable("the response has no \(member)")
            }
            try act(page, elements)
            rest -= elements.count
            let next = page.member("next") == nil ? nil : page.text("next")
            guard next == nil || next != after else {
                throw ExchangeFailure.unusable("the page after \(after ?? "") is that page again")
            }
            after = next
        } while after != nil && rest > 0
        return after != nil
    }
}

extension [UInt8] {
    /// The member of an object, as JSON; nil if there is none.
    func member(_ name: String) -> [UInt8]? {
        JSON.slice(JSONPointer(tokens: [name]), of: self).map { Array(self[$0]) }
    }

    /// The text of a member; of a value that is no text its JSON, and without a value `-`.
    func text(_ name: String) -> String {
        guard let value = member(name) else { return "-" }
        return (try? JSON.decode(String.self, stored: value))
            ?? String(decoding: value, as: UTF8.self)
    }
}
