/// The requests that one `init(from:)` made of its decoder, in their order.
final class SchemaNotes {
    /// The kind of container that the type requested.
    enum Container: Equatable { case fields, elements, value }

    /// A request for a value; the key is empty for an element and for a single value.
    struct Request: Equatable {
        let key: String
        let type: any Any.Type
        /// A null or missing field is nil.
        let isOptional: Bool

        static func == (left: Request, right: Request) -> Bool {
            left.key == right.key && left.type == right.type && left.isOptional == right.isOptional
        }
    }

    private(set) var container: Container?
    /// The type of the keys, if the container is one of fields.
    private(set) var keys: (any CodingKey.Type)?
    /// Without repetitions: the elements of an array are one request for each type of theirs.
    private(set) var requests: [Request] = []
    /// Keys whose presence the type tests, so that they may be missing or null.
    private(set) var tested: Set<String> = []
    var requestsKeys = false
    /// Whether the type asked whether the value is null.
    var requestsNull = false
    /// The case that an enum reads, as Swift's synthesised code does.
    private(set) var shownCase: (name: String, keys: any CodingKey.Type)?
    /// Whether the type does what no synthesised code does: it tries again after a refusal, or
    /// opens another container. Nothing can be concluded from its requests then.
    private(set) var isIrregular = false
    private var hasFailed = false

    /// The case that an enum without a value finds; nil for none.
    let chosenCase: String?

    /// The container's type is a collection whose schema is known: its requests are not kept.
    let isOfCollection: Bool

    /// More fields than this are irregular.
    private static let requestLimit = 256

    init(chosenCase: String? = nil, isOfCollection: Bool = false) {
        self.chosenCase = chosenCase
        self.isOfCollection = isOfCollection
    }

    func open(_ container: Container, _ keys: (any CodingKey.Type)? = nil) {
        if hasFailed || self.container ?? container != container { isIrregular = true }
        if let known = self.keys, let keys, known != keys { isIrregular = true }
        self.container = container
        self.keys = keys
    }

    func open(case name: String, _ keys: any CodingKey.Type) {
        if hasFailed || shownCase != nil || !requestsKeys || !requests.isEmpty {
            isIrregular = true
        }
        shownCase = (name, keys)
    }

    func add(_ request: Request) {
        if hasFailed { isIrregular = true }
        guard !isOfCollection, !isIrregular, !requests.contains(request) else { return }
        guard requests.count < Self.requestLimit else { return isIrregular = true }
        requests.append(request)
    }

    func test(_ key: String) {
        if tested.count < Self.requestLimit { tested.insert(key) }
    }

    /// The type opened a container whose content is not recorded.
    func openOther() { isIrregular = true }

    /// Notes whether `read` fails: a request was refused, or a value could not be read.
    func noting<Value>(_ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            hasFailed = true
            throw error
        }
    }

    /// The type made a value: it has concealed a refusal, if there was one.
    func succeed() {
        if hasFailed { isIrregular = true }
    }

    /// Whether another decoding made the same requests.
    func isLike(_ other: SchemaNotes) -> Bool {
        container == other.container && isIrregular == other.isIrregular
            && shownCase?.name == other.shownCase?.name && requests == other.requests
            && tested == other.tested && requestsKeys == other.requestsKeys
            && requestsNull == other.requestsNull
    }
}
