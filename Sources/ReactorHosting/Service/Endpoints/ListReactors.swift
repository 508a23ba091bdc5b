internal import JSONCoding
internal import Sessions

/// `GET /v1/reactors`: the reactors hosted here, with their pulses, activities and examples of
/// their actions.
enum ListReactors: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let reactors = connection.loop.service.reactors.filter {
            request.access?.grants.permits(reactor: $0.name) ?? true
        }
        return .json(200, Page(reactors: reactors.map(Page.Reactor.init)))
    }

    private struct Page: Encodable {
        let reactors: [Reactor]

        struct Reactor: Encodable {
            let name: String
            let pulses: [String]
            let activities: [String]
            let examples: [JSONValue]

            init(_ registration: Registration) {
                name = registration.name
                pulses = registration.pulses
                activities = registration.activities
                // The examples were encoded at registration, by the same coder: no value is lost.
                examples = registration.examples.compactMap {
                    try? JSON.decode(JSONValue.self, from: $0)
                }
            }
        }
    }
}
