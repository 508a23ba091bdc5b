import Sessions
import Testing

@testable import ReactorHosting

@Suite("RFC 9111 §5.2.1 — what a reader says about age", .timeLimit(.minutes(60)))
struct FreshnessTests {
    @Test(arguments: [
        (nil, Freshness.preferred), ("", .preferred), ("no-cache", .confirmed),
        ("No-Cache", .confirmed), ("max-stale", .stale(seconds: nil)),
        ("max-stale=5", .stale(seconds: 5)), ("no-store, max-stale = 5", .stale(seconds: 5)),
        ("max-stale, no-cache", .confirmed), ("no-cache,max-stale", .confirmed),
        ("max-age=0", .preferred), ("max-stale=x", .preferred), ("max-stale=", .preferred),
        (",,=,=5,", .preferred), ("max-stale=99999999999999999999", .preferred),
        ("max-stale=18446744073709551615", .stale(seconds: .max)),
    ])
    func `a directive is read, and another one ignored`(field: String?, freshness: Freshness) {
        #expect(Freshness(cacheControl: field) == freshness)
    }
}
