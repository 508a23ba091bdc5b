import Foundation
import Testing

@testable import ReactorHosting

@Suite("The file of --config", .timeLimit(.minutes(60)))
struct SettingsFileTests {
    private func file(_ text: String) -> SettingsFile {
        SettingsFile(path: "f", bytes: Array(text.utf8))
    }

    @Test(arguments: [
        ("retry = 3s", "3s"), ("retry=3s", "3s"), ("\t retry\t=  3s \t", "3s"),
        ("retry = 3s\r", "3s"),
        ("\n\n# retry = 1s\n  # x\nretry = 3s\n", "3s"), ("retry = a = b # c", "a = b # c"),
        ("retry = \"3s\"", "\"3s\""),
    ])
    func `a line sets a value`(text: String, expected: String) {
        let read = file(text)
        #expect(read.sentences == [])
        #expect(read.entries.mapValues(\.text) == ["retry": expected])
    }

    @Test func `every refused line is named, and the others are read`() {
        let read = file(
            "port = 1\nprot = 2\nretry\n= 3\nport = 4\nconfig = other\ngrace =\nloops = 2\n")
        #expect(
            read.sentences == [
                #"f:2: there is no setting "prot"; see --help"#, "f:3: expected NAME = VALUE",
                #"f:4: there is no setting ""; see --help"#, "f:5: port is already set in line 1",
                "f:6: the file cannot name another one", "f:7: grace has no value",
            ])
        #expect(read.entries.mapValues(\.line) == ["port": 1, "loops": 8])
    }

    @Test func `bytes that are not UTF-8 are refused, and the number of faults is bounded`() {
        #expect(SettingsFile(path: "f", bytes: [0xFF, 0x0A]).sentences == ["f:1: it is not UTF-8"])
        let many = file(String(repeating: "x\n", count: 5_000))
        #expect(many.sentences.count == SettingsFile.shownFaults + 1)
        #expect(many.sentences.last == "f: 4980 more lines are refused")
    }

    @Test func `options override variables, and these the file`() throws {
        try withFile("port = 1\nretry = 4s\ngrace = 5s\nlog-level = debug\n") { path in
            let read = try Configuration.read(
                typed: ["port": "3", "config": path],
                environment: ["REACTOR_PORT": "2", "REACTOR_RETRY": "6s", "REACTOR_GRACE": ""])
            #expect(read.configuration.port == 3)
            #expect(read.configuration.retry == .seconds(6))
            #expect(read.configuration.grace == .seconds(5))
            #expect(read.configuration.logLevel == .debug)
            let shown = Dictionary(
                uniqueKeysWithValues: read.values.map {
                    ($0.setting.name, [$0.shownText, $0.source.description(of: $0.setting)])
                })
            #expect(shown["port"] == ["3", "--port"])
            #expect(shown["retry"] == ["6s", "REACTOR_RETRY"])
            #expect(shown["grace"] == ["5s", "\(path):3"])
            #expect(shown["host"] == ["127.0.0.1", "default"])
            #expect(shown["link"] == [nil, "default"])
            #expect(shown.count == Setting.table.count)
        }
    }

    @Test func `faults of the file, the environment and the options are reported together`() throws
    {
        try withFile("port = 70000\nnothing\nretry = 1\n") { path in
            let failure = #expect(throws: ConfigurationFailure.self) {
                try Configuration(
                    typed: ["loops": "0"],
                    environment: [
                        "REACTOR_CONFIG": path, "REACTOR_GRACE": "x", "REACTOR_RETRY": "1s",
                    ])
            }
            #expect(
                failure?.sentences.map { String($0.prefix { $0 != "\"" }) } == [
                    "\(path):2: expected NAME = VALUE", "\(path):1: port is ", "REACTOR_GRACE is ",
                    "--loops is ",
                ])
        }
    }

    @Test func `a file that is missing, too large or no file is refused`() throws {
        func sentences(_ path: String) -> [String] {
            let failure = #expect(throws: ConfigurationFailure.self) {
                try Configuration(typed: ["config": path], environment: [:])
            }
            return failure?.sentences ?? []
        }
        #expect(sentences("/no/such").first?.contains("No such file") == true)
        #expect(sentences("/dev/null") == ["/dev/null: it is not a regular file"])
        #expect(sentences("/tmp") == ["/tmp: it is not a regular file"])
        try withFile(String(repeating: "#", count: SettingsFile.limitBytes + 1)) { path in
            #expect(sentences(path) == ["\(path): it has more than 65536 bytes"])
        }
        try withFile(String(repeating: "#", count: SettingsFile.limitBytes)) { path in
            _ = try Configuration(typed: ["config": path], environment: [:])
        }
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "settings-\(UUID().uuidString).conf"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }
}

@Suite("Secrets in settings", .timeLimit(.minutes(60)))
struct SecretSettingTests {
    @Test(arguments: [
        // This program has no library that can read such addresses.
        ("postgres://u:pw@h/db", "postgres://***"), ("postgres:/u:pw@h/db", "postgres://***"),
        ("POSTGRESQL://h/db?PASSWORD=pw", "postgresql://***"),
        ("mysql://u:p@w:x/y@h:5432/db", "mysql://u:***@h:5432/db"),
        ("mysql://u@h/db", "mysql://u@h/db"), ("https://h:80/a", "https://h:80/a"),
        ("mysql://h/db?password=pw&a=b", "mysql://h/db?password=***&a=b"),
        ("host=h password=pw user=u", "host=h password=*** user=u"),
        (
            "mysql://u:pw@h/?password=a&sslpassword=b",
            "mysql://u:***@h/?password=***&sslpassword=***"
        ),
        ("file:reactor.sqlite", "file:reactor.sqlite"), ("", ""),
    ])
    func `passwords are masked`(text: String, shown: String) {
        #expect(SettingValue.masked(text) == shown)
    }

    @Test func `a password in a refused URL is masked`() {
        let failure = #expect(throws: ConfigurationFailure.self) {
            try Configuration(
                typed: [:], environment: ["REACTOR_JOURNAL": "mysql://me:word@h/db"])
        }
        #expect(failure?.description.contains("mysql://me:***@h/db") == true)
    }
}
