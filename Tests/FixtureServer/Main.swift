import Foundation
import ReactorHosting
import ReactorPostgres
import ReactorTokens
import Reactors
import SampleReactors

/// Hosts the reactors of the conformance cases that need more than the samples.
@main
enum Main {
    static func main() async {
        await ReactorServer.main(
            hosting: [
                Hosted("pulses") { Pulses() },
                Hosted("passing") { Passing() },
                Hosted("held") { Held() },
                Hosted("failing") { Failing() },
                Hosted("trapping") { Trapping() },
                Hosted("blocking") { Blocking() },
                Hosted("listening") { Listening() },
                Hosted("feed") { Feed() },
                Hosted("profile") { Profile() },
                Hosted("member") { Profile(topic: Topic("member", remembers: true)) },
                Hosted("row") { Row() },
                Hosted("cell") { Cell() },
                Hosted("errands") { Errands() },
                Hosted("order") { Order() },
                Hosted("values") { Values() },
                Hosted("rounds") { Rounds() },
                Hosted(
                    "seat", input: Seat.Input.self,
                    inputExamples: [Seat.Input(row: 7, side: .left, guest: "Ada", wishes: ["tea"])]
                ) { Seat($0.input) },
                Hosted("cycle", activities: ["didReachBigNumber"]) { Cycle() },
            ] + (Versioned.present == nil ? [] : [Hosted("versioned") { Versioned() }]) + samples,
            journals: [postgres], beside: Consumer.program
        ) { settings in
            guard hasSamples else { return tokens }
            return try await JWTAuthenticator.configured(by: settings)
        }
    }

    /// Whether it also hosts the sample reactors, and verifies tokens as `reactor-server` does: for
    /// the tools of Tests/Load.
    private static let hasSamples = ProcessInfo.processInfo.environment["FIXTURE_SAMPLES"] != nil

    /// One for the whole process: it knows the tokens that were used.
    private static let tokens = Tokens.fromEnvironment()

    private static let marked = MarkedModel.model

    private static var samples: [Hosted] {
        guard hasSamples else { return [] }
        return [
            Hosted("alerts") { Alerts() },
            Hosted("counter", activities: ["didReachBigNumber"]) { Counter() },
            Hosted("chat", activities: ["typing"]) { Chat() },
            Hosted("job") { Job() },
            Hosted("countdown") { Countdown() },
            Hosted("conversation") { Conversation(model: .scripted(every: .milliseconds(5))) },
            Hosted("marks") { Conversation(model: marked) },
            .document(),
        ]
    }

    /// A test sets longer leases if its nodes must not lose them on a slow machine.
    private static var postgres: JournalEngine {
        guard let text = ProcessInfo.processInfo.environment["FIXTURE_LEASE_SECONDS"],
            let seconds = Int(text)
        else { return .postgres }
        return .postgres(lease: .seconds(seconds))
    }
}
