import ReactorHosting
import ReactorPostgres
import ReactorTokens
import ReadingLists

@main struct Main {
    static func main() async {
        let hosted = Hosted(
            "reading-list", examples: [.add(title: "Emma"), .finish(title: "Emma")]
        ) { ReadingList() }
        await ReactorServer.main(
            hosting: [hosted], journals: [.postgres], authenticating: JWTAuthenticator.configured)
    }
}
