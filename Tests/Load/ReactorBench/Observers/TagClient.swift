/// Changes the tag of its session, and looks for the session in lists.
///
/// It is the only client of its session. So after each acknowledged change, a list by the new value
/// has the session, and a list by another value has not: a list is never behind a 2xx (ADR-0088).
struct TagClient {
    private enum Errand: Equatable {
        case create
        case post(String)
        case list(String)
    }

    /// The values of the tag `status` of the reactor `order`; the first is that of new sessions.
    static let values = ["open", "cooking", "served", "paid"]
    /// Enough for each client's session, because the newest change comes first.
    private static let listLimit = 50

    let session: String
    private var errand: Errand? = .create
    private var posts = 0
    private var value = values[0]
    /// The lists that were right.
    private(set) var looks = 0
    /// Once set, the client completes its request and stops.
    var isFinishing = false

    init(session: String) { self.session = session }

    /// A server that is full creates no session.
    var isDone: Bool { isFinishing && (errand == nil || errand == .create) }

    /// The next request, or the unanswered one again; nil if there is none.
    mutating func request(
        host: String, _ random: inout some RandomNumberGenerator
    ) -> [UInt8]? {
        guard !isDone else { return nil }
        if errand == nil {
            posts += 1
            errand = .post(Self.values.randomElement(using: &random) ?? value)
        }
        let path = "/v1/sessions/\(session)"
        switch errand {
        case nil: return nil
        case .create: return TimerClient.request("PUT", path, host, #"{"reactor":"order"}"#)
        case .post(let value):
            return TimerClient.request(
                "POST", path + "/actions", host, key: "tags-\(posts)",
                #"{"type":"set","status":"\#(value)"}"#)
        case .list(let value):
            return TimerClient.request(
                "GET", "/v1/sessions?tag=status:\(value)&limit=\(Self.listLimit)", host)
        }
    }

    /// Returns the fault that the answer shows.
    mutating func answered(
        _ status: Int, _ body: [UInt8], _ random: inout some RandomNumberGenerator
    ) -> String? {
        if AnswerRules.isRefusal(status) || AnswerRules.isUnknown(status) || status == 409 {
            return nil
        }
        guard status == 200 || status == 201, let errand else {
            let text = String(decoding: body.prefix(200), as: UTF8.self)
            return "\(session): \(status) to \(errand.map { "\($0)" } ?? "nothing"): \(text)"
        }
        switch errand {
        case .create: self.errand = .list(value)
        case .post(let value):
            let other = Bool.random(using: &random) ? value : self.value
            self.value = value
            self.errand = .list(other)
        case .list(let listed):
            self.errand = nil
            looks += 1
            let found = ListedSession.all(in: body).first { $0.id == session }
            let expected = listed == value ? #""status":"\#(value)""# : nil
            guard found?.tags == expected else {
                return "\(session) is \(value), and the list of \(listed) shows "
                    + (found.map { "it with \($0.tags)" } ?? "it not")
            }
        }
        return nil
    }
}
