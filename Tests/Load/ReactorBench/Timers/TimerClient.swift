// A client that sets timers, and its oracle. It knows which timers must fire, and not how the
// server keeps them. This type touches no socket, so that tests can drive it.

/// Sets timers in sessions of the reactor `rounds`, one session after the other, and checks that
/// each timer that was neither cancelled, replaced nor refused fires once, and not early.
///
/// It is the only client of its sessions, and repeats each request until it is answered. So each
/// request has taken effect once when the next one is sent.
struct TimerClient {
    private enum Errand { case create, post, wake, read, runtime }

    /// A number that a timer's action has, and that the state has once the timer has fired.
    private struct Ring {
        /// Whether its timer must fire; otherwise it must not.
        var isDue: Bool
        /// The earliest time at which it may fire, on the tool's clock.
        var earliest: UInt64
    }

    /// The number of posts to a session. With small limits of states, their rings still fit.
    private static let postLimit = 24
    /// How often a session is read in vain until a timer counts as lost: for ten seconds at least.
    private static let readLimit = 100
    private static let pauseNanoseconds: UInt64 = 100_000_000
    /// The delay of a timer that is cancelled or replaced by a later request.
    private static let longDelay = 3_600_000

    private let name: String
    /// Whether a timer that is early is a fault.
    private let checksEarly: Bool
    private var number = 0
    private var errand: Errand? = .create
    private var pausesUntil: UInt64 = 0
    private var posts = 0
    private var body = ""
    private var isRefused = false
    private var rings: [Int: Ring] = [:]
    private var rung: [Int] = []
    /// The ring whose timer waits to be cancelled or replaced.
    private var held: Int?
    private var readsInVain = 0
    /// Once set, the client completes its session and stops.
    var isFinishing = false
    /// The numbers of timers that have fired, and of those that had to be gone and were.
    private(set) var fired = 0
    private(set) var gone = 0

    /// - Parameters:
    ///   - name: The beginning of the names of its sessions, which no other client has.
    ///   - checksEarly: Whether a timer that is early is a fault. A timer is early if its node's
    ///     clock is fast.
    init(name: String, checksEarly: Bool = true) {
        self.name = name
        self.checksEarly = checksEarly
    }

    var session: String { "\(name)-\(number)" }
    var isDone: Bool { isFinishing && errand == .create }

    /// The next request, or the unanswered one again; nil if there is none now.
    mutating func request(
        now: UInt64, host: String, _ random: inout some RandomNumberGenerator
    ) -> [UInt8]? {
        guard now >= pausesUntil, !isDone else { return nil }
        let errand = errand ?? choose(now, &random)
        self.errand = errand
        let path = "/v1/sessions/\(session)"
        return switch errand {
        case .create: Self.request("PUT", path, host, #"{"reactor":"rounds"}"#)
        case .post:
            Self.request("POST", path + "/actions", host, key: "timers-\(posts)", body)
        case .wake:
            Self.request("POST", path + "/actions", host, #"{"type":"cancel","name":"none"}"#)
        case .read: Self.request("GET", path, host)
        case .runtime: Self.request("GET", path + "/runtime", host)
        }
    }

    static func request(
        _ method: String, _ path: String, _ host: String, key: String? = nil, _ body: String? = nil
    ) -> [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        if let key { head += "Idempotency-Key: \(key)\r\n" }
        guard let body else { return Array((head + "\r\n").utf8) }
        head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        return Array((head + body).utf8)
    }

    // MARK: Posts

    private mutating func choose(
        _ now: UInt64, _ random: inout some RandomNumberGenerator
    ) -> Errand {
        let isFull = posts >= Self.postLimit || isFinishing
        // Its timers may be overdue since a server ended, and sleep until the session is used.
        guard !isFull || held != nil else { return .wake }
        // Between two posts a timer that is early would be seen.
        if !isFull, Int.random(in: 0..<4, using: &random) == 0 { return .read }
        posts += 1
        isRefused = false
        let kind = isFull ? 0 : Int.random(in: 0..<8, using: &random)
        let delay = Int.random(in: 0..<300, using: &random)
        switch (kind, held) {
        case (0, let name?): (body, held) = (Self.cancel(name), nil)
        case (1, let name?): (body, held) = (set(name, delay, isDue: true, now), nil)
        case (0...1, nil):
            body = set(posts, Self.longDelay, isDue: false, now)
            held = posts
        case (2, _): body = "[\(set(posts, delay, isDue: false, now)),\(Self.cancel(posts))]"
        case (3, _):
            // The timer that it cancels before it is refused is still there.
            let declined = #"{"type":"decline","cancel":"t\#(posts - 1)"}"#
            body = "[\(set(posts, delay, isDue: false, now)),\(declined)]"
            isRefused = true
        default: body = set(posts, delay, isDue: true, now)
        }
        return .post
    }

    /// The action that sets a timer, whose ring is the number of the post.
    private mutating func set(_ name: Int, _ delay: Int, isDue: Bool, _ now: UInt64) -> String {
        rings[posts] = Ring(isDue: isDue, earliest: now + UInt64(delay) * 1_000_000)
        return #"{"type":"set","name":"t\#(name)","ring":\#(posts),"after":\#(delay)}"#
    }

    private static func cancel(_ name: Int) -> String { #"{"type":"cancel","name":"t\#(name)"}"# }

    // MARK: Answers

    /// Returns the faults that the answer shows.
    mutating func answered(_ status: Int, _ body: [UInt8], now: UInt64) -> [String] {
        // Overloaded, draining, of unknown outcome, or the key's first request is in progress.
        if AnswerRules.isRefusal(status) || AnswerRules.isUnknown(status) || status == 409 {
            pausesUntil = now + Self.pauseNanoseconds
            return []
        }
        guard let errand else { return ["timers: \(status) that nobody asked for"] }
        let text = String(decoding: body, as: UTF8.self)
        let isExpected =
            switch errand {
            case .create: status == 200 || status == 201
            case .post where isRefused:
                status == 422 && AnswerRules.text(after: #""code":""#, in: body) == "action_refused"
            case .post, .wake, .read, .runtime: status == 200
            }
        guard isExpected else {
            begin()
            return ["timers of \(session): \(status) to \(errand) \(self.body): \(text)"]
        }
        switch errand {
        case .create, .post: self.errand = nil
        case .wake: self.errand = .read
        case .read:
            // At the end, all timers that are gone must be gone from the journal, too.
            self.errand = posts >= Self.postLimit || isFinishing ? .runtime : nil
            return judge(body, text, now)
        case .runtime: return close(body, text, now)
        }
        return []
    }

    private mutating func judge(_ body: [UInt8], _ text: String, _ now: UInt64) -> [String] {
        guard let list = AnswerRules.text(after: #""rung":["#, in: body) else {
            return ["timers of \(session): no state in \(text)"]
        }
        let rung = list.prefix { $0 != "]" }.split(separator: ",").compactMap { Int($0) }
        var faults: [String] = []
        if Set(rung).count < rung.count { faults.append("a timer has fired twice") }
        if let lost = Set(self.rung).subtracting(rung).first { faults.append("\(lost) is lost") }
        if checksEarly, AnswerRules.number(after: #""early":"#, in: body) != 0 {
            faults.append("a timer was early by the server's clock")
        }
        for ring in rung {
            guard let known = rings[ring], known.isDue else {
                faults.append("\(ring) was cancelled, replaced, refused or never set")
                continue
            }
            // Dates have whole milliseconds.
            if checksEarly, now + 1_000_000 < known.earliest { faults.append("\(ring) was early") }
        }
        self.rung = rung
        guard !faults.isEmpty else { return [] }
        defer { begin() }
        return ["timers of \(session): \(faults.joined(separator: "; ")): rung \(rung)"]
    }

    private mutating func close(_ body: [UInt8], _ text: String, _ now: UInt64) -> [String] {
        let missing = rings.filter(\.value.isDue).keys.filter { !rung.contains($0) }.sorted()
        if missing.isEmpty, text.contains(#""timers":[]"#) {
            fired += rung.count
            gone += rings.count - rung.count
            begin()
            return []
        }
        errand = nil
        pausesUntil = now + Self.pauseNanoseconds
        readsInVain += 1
        guard readsInVain >= Self.readLimit else { return [] }
        defer { begin() }
        return ["timers of \(session): \(missing) have not fired, and there are \(text)"]
    }

    /// Turns to another session.
    private mutating func begin() {
        var next = TimerClient(name: name, checksEarly: checksEarly)
        (next.number, next.fired, next.gone) = (number + 1, fired, gone)
        next.isFinishing = isFinishing
        self = next
    }
}

extension [TimerClient] {
    var fired: Int { reduce(0) { $0 + $1.fired } }
    var gone: Int { reduce(0) { $0 + $1.gone } }
}
