import ArgumentParser
import Foundation
import Testing

@testable import ReactorHosting

@Suite("Settings — one table for options, environment and help", .timeLimit(.minutes(60)))
struct ConfigurationTests {
    @Test func `without options the defaults hold`() throws {
        var expected = Configuration()
        let read = try Configuration(typed: [:], environment: [:])
        expected.loops = read.loops
        #expect(read == expected)
        #expect(read.loops >= 1)
    }

    @Test func `an option overrides the environment, and an empty variable counts as unset`() throws
    {
        let read = try Configuration(
            typed: ["port": "1", "host": "::"],
            environment: ["REACTOR_PORT": "2", "REACTOR_RETRY": "3s", "REACTOR_GRACE": ""])
        #expect(read.port == 1)
        #expect(read.host == "::")
        #expect(read.retry == .seconds(3))
        #expect(read.grace == Configuration().grace)
    }

    @Test func `every setting reaches its own value`() throws {
        let settings = NSTemporaryDirectory() + "settings-\(UUID().uuidString).conf"
        try "".write(toFile: settings, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: settings) }
        let texts = [
            "config": settings,
            "host": "h", "port": "81", "ops-listen": "[::1]:9", "loops": "3",
            "link": "[::]:10", "link-address": "a.example:11", "cluster-secret-file": "/c",
            "journal": "memory", "body-limit": "77", "body-budget": "65537", "state-limit": "2000",
            "connection-limit": "6", "session-limit": "7", "keep-bytes": "9",
            "session-idle": "17s", "session-expiry": "40m",
            "history-bytes": "70000", "history-age": "19s",
            "heartbeat": "10s",
            "connection-age": "11s",
            "stall-timeout": "12s", "idle-timeout": "13s",
            "retry": "15s", "wake-on-demand": "on", "drain-delay": "26s", "grace": "16s",
            "allow-origin": "https://o", "admin": "on",
            "log-level": "error", "log-format": "json", "access-log": "on",
            "auth": "jwt", "jwt-secret-file": "/s", "jwt-key-file": "/k",
            "jwt-issuer": "i", "jwt-audience": "x, y", "jwt-claim": "c",
            "address-connection-limit": "20", "request-rate": "21",
            "trusted-proxies": "10.0.0.0/8, ::1,unix",
            "allow-public": "on", "allow-host": "a.example, B",
            "subject-session-limit": "23", "console": "read-only",
        ]
        #expect(Set(Setting.table.map(\.name)) == Set(texts.keys), "the test knows them all")
        var expected = Configuration()
        expected.configPath = settings
        (expected.host, expected.port) = ("h", 81)
        expected.operationsAddress = .tcp(host: "::1", port: 9)
        expected.link = LinkAddress(host: "::", port: 10)
        expected.linkAddress = LinkAddress(host: "a.example", port: 11)
        expected.clusterSecretPath = "/c"
        (expected.loops, expected.bodyLimitBytes) = (3, 77)
        (expected.connectionLimit, expected.sessionLimit) = (6, 7)
        (expected.keptBytes, expected.stateLimitBytes) = (9, 2_000)
        (expected.heartbeat, expected.connectionAge) = (.seconds(10), .seconds(11))
        (expected.stallTimeout, expected.idleTimeout) = (.seconds(12), .seconds(13))
        expected.retry = .seconds(15)
        (expected.wakesOnDemand, expected.drainDelay) = (true, .seconds(26))
        (expected.grace, expected.allowedOrigins) = (.seconds(16), ["https://o"])
        (expected.allowsPublic, expected.allowedHosts) = (true, ["a.example", "b"])
        (expected.authentication, expected.tokenSecretPath) = (.jwt, "/s")
        expected.tokenKeyPath = "/k"
        (expected.tokenIssuer, expected.tokenAudiences) = ("i", ["x", "y"])
        (expected.tokenGrantsClaim, expected.bodyBudgetBytes) = ("c", 65_537)
        (expected.addressConnectionLimit, expected.requestRate) = (20, 21)
        expected.trustedProxies = ["10.0.0.0/8", "::1", "unix"]
        (expected.subjectSessionLimit, expected.sessionIdle) = (23, .seconds(17))
        expected.sessionExpiry = .seconds(2_400)
        expected.journal = .memory
        expected.historyAge = .seconds(19)
        expected.historyBytes = 70_000
        expected.administration = .on
        expected.console = .readOnly
        (expected.logLevel, expected.logFormat, expected.accessLog) = (.error, .json, .on)
        #expect(try Configuration(typed: texts, environment: [:]) == expected)
        let variables = Dictionary(
            uniqueKeysWithValues: Setting.table.map { ($0.environmentName, texts[$0.name] ?? "") })
        #expect(try Configuration(typed: [:], environment: variables) == expected)
    }

    @Test func `all bad values are reported together with their origins`() {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try Configuration(
                typed: ["port": "65536", "retry": "soon", "host": "a\nb"],
                environment: ["REACTOR_LOOPS": "0", "REACTOR_JOURNAL": "paper"])
        }
        let sentences = failure?.sentences ?? []
        #expect(sentences.count == 5)
        for start in [
            "--host is ", "--port is \"65536\": expected ", "--retry is \"soon\": expected ",
            "REACTOR_LOOPS is \"0\": expected ", "REACTOR_JOURNAL is \"paper\": expected ",
        ] {
            #expect(sentences.contains { $0.hasPrefix(start) }, "\(start)")
        }
        #expect(failure?.description == sentences.joined(separator: "\n"))
    }

    @Test(arguments: [
        ("port", "-1"), ("port", "65536"), ("port", "0x50"), ("port", ""), ("port", "8 0"),
        ("loops", "0"), ("loops", "257"), ("body-limit", "1"),
        ("state-limit", "1023"),
        ("connection-limit", "0"), ("session-limit", "0"),
        ("history-bytes", "65535"), ("keep-bytes", "-1"), ("keep-bytes", "9223372036854775808"),
        ("heartbeat", "0s"),
        ("heartbeat", "15"), ("heartbeat", "-1s"), ("grace", "1.5s"), ("log-level", "loud"),
        ("journal", "Memory"), ("journal", "postgres"), ("journal", "mysql://h/d"),
        ("host", "unix:"),
        ("allow-origin", "a\u{7f}"),
        ("auth", "JWT"), ("jwt-audience", "a,,b"),
        ("jwt-claim", ""), ("allow-public", "yes"), ("allow-public", ""),
        ("allow-host", "a:80"), ("allow-host", "a,,b"), ("allow-host", "https://a"),
        ("trusted-proxies", "10.0.0.1/8"), ("trusted-proxies", "proxy"), ("request-rate", "-1"),
        ("ops-listen", "9090"), ("ops-listen", ":9090"), ("ops-listen", "::1:9090"),
        ("ops-listen", "[::1]"), ("ops-listen", "a:65536"), ("ops-listen", "a:+1"),
        ("ops-listen", "a:"), ("ops-listen", "[a]:1"), ("ops-listen", "[]:1"),
        ("console", "yes"), ("console", ""), ("console", "readonly"),
        ("ops-listen", "http://a:1"), ("ops-listen", "unix:"), ("ops-listen", ""),
        ("link", "7080"), ("link", ":7080"), ("link", "::1:7080"), ("link", "unix:/l"),
        ("link", ""),
        ("link-address", "[a]:1"), ("link-address", "a:65536"), ("cluster-secret-file", ""),
        ("allow-origin", "null"), ("allow-origin", "https://a/"), ("allow-origin", "app.example"),
    ])
    func `a value out of range is refused`(name: String, text: String) {
        #expect(throws: ConfigurationFailure.self) {
            try Configuration(typed: [name: text], environment: [:])
        }
    }

    @Test func `the address of a database is shown without its password`() async throws {
        let address = "postgres://ada:secret@db1,db2/reactor?schema=two&password=other"
        let configuration = try Configuration(typed: ["journal": address], environment: [:])
        #expect(configuration.journal == .postgres(address: address))
        // Only the database's library knows where the password is.
        #expect("\(configuration.journal)" == "postgres://***")
        let refused = await #expect(throws: StartFailure.self) {
            try await RunningServer.open(configuration)
        }
        #expect(refused?.description.contains("import ReactorPostgres") == true)
    }

    @Test func `a variable that resembles a setting causes a warning`() {
        let sentences = Configuration.unknownVariables(in: [
            "REACTOR_PORT": "1", "REACTOR_PROT": "1", "REACTOR_": "", "PATH": "x",
        ])
        #expect(sentences.count == 2)
        #expect(sentences.last?.hasPrefix("REACTOR_PROT is set") == true)
    }

    @Test func `every setting is an option, and the help shows it`() throws {
        let help = ServerCommand.helpMessage(columns: 400)
        for setting in Setting.table {
            let (words, value, shown) =
                setting.isFlag
                ? (["--\(setting.name)"], "on", "--\(setting.name) ")
                : (
                    ["--\(setting.name)", "text"], "text",
                    "--\(setting.name) <\(setting.placeholder)>"
                )
            #expect(try ServerArguments.parse(words).typed == [setting.name: value])
            #expect(help.contains(shown), "\(setting.name)")
            #expect(help.contains(setting.environmentName))
            #expect(help.contains("default: \(setting.defaultText)"))
            #expect(setting.change?.hasPrefix("when ") == true, "\(setting.name)")
        }
        #expect(help.contains("healthcheck"))
    }

    @Test func `every setting is in one group of the help, and the first group comes first`() throws
    {
        let groups = SettingGroup.allCases.filter { $0 != .constants && $0 != .removed }
        let names = groups.flatMap { $0.options.map(\.name) }
        #expect(names.count == Set(names).count)
        #expect(Set(names) == Set(Setting.table.map(\.name)))
        let help = ServerCommand.helpMessage(columns: 400)
        var places: [String.Index] = []
        for group in groups {
            places.append(
                try #require(help.range(of: "\(group.rawValue.uppercased()):")).lowerBound)
            for name in group.options.map(\.name) {
                let place = try #require(help.range(of: "  --\(name) ")).lowerBound
                #expect(place > places[places.count - 1], "\(name)")
                places.append(place)
            }
        }
        #expect(places == places.sorted())
        #expect(places.count == names.count + groups.count)
    }

    @Test func `operators have at most 45 settings to know`() {
        #expect(Setting.table.count <= 45)
    }

    @Test func `a removed setting is refused, wherever it is given, with what replaced it`() throws
    {
        for removed in RemovedSetting.table {
            let words = ["--\(removed.name)"] + (removed.isFlag ? [] : ["5"])
            let typed = try ServerArguments.parse(words).typed
            let name = removed.setting.environmentName
            let failure = #expect(throws: ConfigurationFailure.self) {
                try Configuration(typed: typed, environment: [name: "5"])
            }
            #expect(
                failure?.sentences == [
                    "--\(removed.name) is no longer a setting: \(removed.replacement)",
                    "\(name) is no longer a setting: \(removed.replacement)",
                ])
            let file = SettingsFile(path: "f", bytes: Array("\(removed.name) = 5\n".utf8))
            #expect(
                file.sentences == [
                    "f:1: \(removed.name) is no longer a setting: \(removed.replacement)"
                ])
            #expect(!Setting.table.contains { $0.name == removed.name })
            #expect(try Configuration(typed: [:], environment: [name: ""]) == Configuration())
            #expect(Configuration.unknownVariables(in: [name: "5"]) == [])
        }
    }

    @Test func `what replaced a setting is a setting, or a constant with the value that is named`()
        throws
    {
        let constants = SettingConstants.table
        for removed in RemovedSetting.table {
            let named = removed.replacement.split(separator: " ").filter { $0.hasPrefix("--") }
            for option in named {
                let name = option.dropFirst(2).filter { $0 != "," }
                #expect(Setting.table.contains { $0.name == name }, "\(removed.replacement)")
            }
            let constant = constants.first { $0.name == removed.name }
            #expect(removed.replacement.hasPrefix("it is always ") == (constant != nil))
            guard let constant, let value = Int(constant.defaultText), value < 1_000_000
            else { continue }
            #expect(removed.replacement.hasPrefix("it is always \(value) "))
        }
        #expect(Set(constants.map(\.name)).isSubset(of: RemovedSetting.table.map(\.name)))
    }

    @Test func `the page of settings says what replaced each removed one`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let page = try String(
            contentsOf: root.appending(
                path: "Sources/ReactorHosting/ReactorHosting.docc/Settings.md"),
            encoding: .utf8)
        let rows = page.split(separator: "## Removed settings")[1].split(separator: "\n").filter {
            $0.hasPrefix("| `--")
        }
        let expected = RemovedSetting.table.map { "| `--\($0.name)` | \($0.replacement) |" }
        #expect(rows.map(String.init) == expected)
    }

    @Test func `tests of limits change constants, and nobody else does`() throws {
        let read = {
            try Configuration.read(
                typed: ["spread-from": "3"], environment: ["REACTOR_SLOW_TURN": "7ms"])
        }
        try SettingConstants.$areAdjustable.withValue(true) {
            let adjusted = try read().configuration
            #expect(adjusted.spreadFrom == 3)
            #expect(adjusted.slowTurn == .milliseconds(7))
            #expect(
                try ServerArguments.parse(["--spread-from", "3"]).typed == ["spread-from": "3"])
            #expect(SettingsFile(path: "f", bytes: Array("spread-from = 3".utf8)).sentences == [])
            #expect(throws: ConfigurationFailure.self) {
                try Configuration(typed: ["spread-from": "0"], environment: [:])
            }
            #expect(throws: ConfigurationFailure.self) {
                try Configuration(typed: ["unix": "/u"], environment: [:])
            }
        }
        #expect(throws: ConfigurationFailure.self) { try read() }
    }

    @Test func `the health check asks the address where the server listens`() throws {
        let any = try Configuration(typed: ["host": "0.0.0.0", "port": "9"], environment: [:])
        #expect("\(any.probeAddress)".contains("127.0.0.1"))
        let six = try Configuration(typed: ["host": "::", "port": "9"], environment: [:])
        #expect("\(six.probeAddress)".contains("::1"))
        let unix = try Configuration(typed: ["host": "unix:/tmp/u"], environment: [:])
        #expect("\(unix.probeAddress)".contains("/tmp/u"))
        let operations = try Configuration(
            typed: ["host": "unix:/tmp/u", "ops-listen": "[::]:9"], environment: [:])
        #expect("\(operations.probeAddress)" == "[::1]:9")
    }

    @Test(arguments: [
        ("127.0.0.1:9090", OperationsAddress.tcp(host: "127.0.0.1", port: 9_090)),
        ("[::]:0", .tcp(host: "::", port: 0)),
        ("ops.example:1", .tcp(host: "ops.example", port: 1)),
        ("unix:/run/a b:1", .unix(path: "/run/a b:1")),
    ])
    func `an operations address is read and shown alike`(text: String, address: OperationsAddress) {
        #expect(OperationsAddress(text) == address)
        #expect(address.description == text)
    }

    @Test func `the operations address is not the clients' one`() throws {
        for (typed, isRefused) in [
            (["ops-listen": "127.0.0.1:8080"], true), (["ops-listen": "127.0.0.1:8081"], false),
            (["ops-listen": "127.0.0.1:0", "port": "0"], false),
            (["ops-listen": "unix:/u", "host": "unix:/u"], true),
            (["ops-listen": "127.0.0.1:8080", "host": "unix:/u"], false),
        ] {
            let read = try Configuration(typed: typed, environment: [:])
            #expect((read.operationsRefusal != nil) == isRefused, "\(typed)")
        }
    }
}

@Suite("Host names and origins in settings", .timeLimit(.minutes(60)))
struct NameSettingTests {
    @Test(arguments: [
        ("a", "a"), ("App.Example", "app.example"), ("a.example.", "a.example"), ("_x-1", "_x-1"),
        ("*", "*"),
    ])
    func `a host name is in lower case, without a final dot`(text: String, expected: String) {
        #expect(HostName.parse(text[...]) == expected)
    }

    @Test(arguments: [
        "", ".", "a:1", "a b", "[::1]", "*.a", "a/", "a..", ".a", "é",
        String(repeating: "a", count: 254),
    ])
    func `other text is no host name`(text: String) {
        #expect(HostName.parse(text[...]) == nil)
    }

    @Test(arguments: [
        ("https://app.example", "https://app.example"), ("HTTP://A:8080", "http://a:8080"),
        ("https://a:443", "https://a"), ("http://a:80", "http://a"),
        ("http://a:443", "http://a:443"),
        ("http://[::1]:3000", "http://[::1]:3000"), ("http://[::1]", "http://[::1]"), ("*", "*"),
    ])
    func `an origin is as browsers send it`(text: String, expected: String) {
        #expect(WebOrigin.parse(text[...]) == expected)
    }

    @Test(arguments: [
        "", "null", "app.example", "https://", "https://*", "https://a/", "https://a/b",
        "https://a:",
        "https://a:0", "https://a:65536", "https://a:080", "ftp://a", "https://a?b", "https://u@a",
        "http://[x]", "http://[", "http://]",
    ])
    func `other text is no origin`(text: String) {
        #expect(WebOrigin.parse(text[...]) == nil)
    }

    @Test func `a list has at most 64 texts`() throws {
        let names = (1...65).map { "h\($0)" }
        let most = names.dropLast().joined(separator: ",")
        #expect(
            try Configuration(typed: ["allow-host": most], environment: [:]).allowedHosts.count
                == 64)
        let failure = #expect(throws: ConfigurationFailure.self) {
            try Configuration(
                typed: ["allow-host": names.joined(separator: ",")], environment: [:])
        }
        #expect(failure?.description.contains("up to 64 of host names") == true)
    }
}

@Suite("Durations in settings", .timeLimit(.minutes(60)))
struct DurationTextTests {
    @Test(arguments: [
        ("0ms", Duration.zero), ("500ms", .milliseconds(500)), ("15s", .seconds(15)),
        ("10m", .seconds(600)), ("1h", .seconds(3_600)), ("007s", .seconds(7)),
        ("2400h", .seconds(8_640_000)), ("8640000000ms", .seconds(8_640_000)),
    ])
    func `a whole number and a unit`(text: String, expected: Duration) {
        #expect(DurationText.parse(text) == expected)
    }

    @Test(arguments: [
        "", "s", "5", "5 s", " 5s", "5s ", "5S", "-5s", "+5s", "5.0s", "5sec", "1h30m", "٥s", "²s",
        "2401h", "8640000001ms", "9223372036854775807h", "99999999999999999999s",
    ])
    func `anything else is refused`(text: String) {
        #expect(DurationText.parse(text) == nil)
    }
}
