internal import JSONCoding
internal import Sessions
internal import Wire

/// `GET /`: the service's name and its parts, as a page for browsers and as JSON for programs.
struct HomePage: Encodable {
    let name = "reactor-server"
    let version = ReactorServer.version
    let journal: String
    /// `none` or `bearer`.
    let authentication: String
    /// Nil if clients need tokens: which reactors one may see is a matter of its grants.
    let reactors: [String]?
    /// The paths of the parts; nil for those that this client does not get here.
    let console: Console?
    let demo: String?
    let client: String?
    let metrics: String?
    let specification = "/openapi.yaml"

    struct Console: Encodable {
        let path = "/console"
        /// `--console read-only`.
        let readOnly: Bool
    }

    init(_ service: Service, for head: borrowing RequestHead) {
        let hasConsole = service.console.admits(head)
        journal = service.journalName
        authentication = service.authenticator == nil ? "none" : "bearer"
        reactors = service.authenticator == nil ? service.reactors.map(\.name) : nil
        console =
            hasConsole ? Console(readOnly: service.configuration.console == .readOnly) : nil
        demo = hasConsole && service.hasDemo ? "/demo" : nil
        client = Page.embedded["/reactor-client.js"]?.path
        metrics = service.configuration.operationsAddress == nil ? "/metrics" : nil
    }

    var json: Page {
        Page(path: "/", mediaType: "application/json", bytes: JSON.line(self))
    }

    var html: Page {
        Page(path: "/", mediaType: "text/html; charset=utf-8", bytes: Array(text.utf8))
    }

    // Design: nothing has to be escaped: texts are this program's, or letters, digits, `-` and `_`.
    private var text: String {
        let style =
            console == nil ? "" : "<link rel=\"stylesheet\" href=\"console/console.css\">\n"
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <meta name="color-scheme" content="light dark">
            <title>reactor-server</title>
            <link rel="icon" href="data:,">
            \(style)<body class="home">
            <main>
            <h1>reactor-server <small>\(version)</small></h1>
            <p>This server hosts reactors: clients post actions and follow states and pulses as \
            Server-Sent Events. Journal: \(journal).</p>
            \(reactorsText)<ul>
            \(links.map { "<li>\(Self.link($0.0, $0.1)) \($0.2)</li>\n" }.joined())</ul>
            </main>
            </html>

            """
    }

    private var reactorsText: String {
        guard let reactors else { return "<p>Clients need a token.</p>\n" }
        let names = reactors.map { "<code>\($0)</code>" }.joined(separator: ", ")
        return "<p>Hosted here: \(names).</p>\n"
    }

    private var links: [(String, String, String)] {
        var links: [(String, String, String)] = []
        if let console { links.append((console.path, "Console", "sessions, live and in the past")) }
        if let demo { links.append((demo, "Demonstration", "two clients side by side")) }
        links.append((specification, "Specification", "every request, as OpenAPI 3.1"))
        if let client { links.append((client, "JavaScript client", "an ES module to import")) }
        links.append(("/v1/reactors", "Reactors", "their actions and states, as JSON Schema"))
        if let metrics { links.append((metrics, "Metrics", "for Prometheus")) }
        return links
    }

    /// A path relative to this page, so that a proxy may serve it below a prefix.
    private static func link(_ path: String, _ title: String) -> String {
        "<a href=\"\(path.dropFirst())\">\(title)</a>:"
    }
}
