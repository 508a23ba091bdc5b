import ReactorTesting
import ReadingLists
import Testing

@Test(.timeLimit(.minutes(1)))
func `a title is on the list once, until it is finished`() async {
    let driver = TestDriver(ReadingList()) { failure in Issue.record("\(failure)") }

    await driver.sendRefused(.finish(title: "Emma"), "not_on_the_list")
    await driver.send(.add(title: "Emma")) { $0.unread = ["Emma"] }
    await driver.sendRefused(.add(title: "Emma"), "on_the_list")
    await driver.send(.finish(title: "Emma")) {
        $0.unread = []
        $0.finishedCount = 1
        $0.finished = "Emma"
    }
    await driver.finish()
}
