import Foundation
import Testing

@Suite("--link — settings with which no node can start are refused", .timeLimit(.minutes(60)))
struct LinkOptionTests {
    @Test func `a server says what its links lack, and leaves no files`() async throws {
        let folder = TemporaryFolder()
        let file = ["--journal", "file:\(folder.path)/j.sqlite"]
        let database = ["--journal", "postgres://nobody@127.0.0.1:1/none"]
        let secret = folder.path + "/secret"
        try "too short\n".write(toFile: secret, atomically: false, encoding: .utf8)
        let here = ["--link", "127.0.0.1:0"]
        let commands: [(options: [String], exit: Int32, sentence: String)] = [
            (here + file, 64, "--journal postgres://ADDRESS"),
            (["--cluster-secret-file", secret] + file, 64, "is set without --link"),
            (["--link", "0.0.0.0:0"] + database, 64, "--cluster-secret-file"),
            (["--link", "0.0.0.0:0"] + database, 64, "set --link-address"),
            (here + ["--cluster-secret-file", secret] + database, 64, "has 9 bytes"),
            (here + ["--link-address", "a:0"] + database, 64, "it needs a port"),
            (["--link", "nowhere.invalid:1"] + database, 1, "can't listen on nowhere.invalid:1"),
        ]
        try await Turnstile.servers.pass {
            for (options, exit, sentence) in commands {
                let run = try await ServerProcess.run(.server, ["--port", "0"] + options)
                #expect(run.exit == .code(exit), "\(options)")
                #expect(run.output.isEmpty)
                #expect(run.errors.contains(sentence), "\(options): \(run.errors)")
                #expect(!run.errors.contains("too short"))
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["secret"])
    }
}
