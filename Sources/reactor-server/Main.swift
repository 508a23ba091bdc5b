internal import ReactorHosting
internal import ReactorPostgres
internal import ReactorTokens
internal import SampleReactors

/// The server with the sample reactors, to try and to learn from.
@main
enum Main {
    static func main() async {
        await ReactorServer.main(
            hosting: [
                Hosted(
                    "alerts", examples: [.alert(message: "Hello"), .doSomeAction]
                ) { Alerts() },
                Hosted(
                    "counter", activities: ["didReachBigNumber"],
                    examples: [.increment(number: 5), .decrement(number: 5)]
                ) { Counter() },
                Hosted(
                    "job", examples: [.start(steps: 10), .startIfIdle(steps: 10), .cancel]
                ) { Job() },
                Hosted(
                    "chat", activities: ["typing"],
                    examples: [.say(author: "ada", text: "Hi"), .typing(author: "ada")]
                ) { Chat() },
                Hosted("countdown", examples: [.start(seconds: 10), .stop]) { Countdown() },
                Hosted(
                    "conversation",
                    examples: [.ask(text: "Why?"), .answer, .retry(question: 1), .stop]
                ) { Conversation(model: .scripted()) },
                .document(),
            ], journals: [.postgres], hasDemo: true, authenticating: JWTAuthenticator.configured)
    }
}
