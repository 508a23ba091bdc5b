internal import CClientCurl
import Foundation
import Glibc
import Synchronization

/// libcurl's multi interface on its own thread: any number of requests and streams at once, without
/// a waiting thread per test.
final class CurlLoop: Sendable {
    enum Command: Sendable {
        case start(number: UInt64, TransferPlan)
        case cancel(number: UInt64)
        case stop
    }

    private struct Inbox {
        var commands: [Command] = []
        var lastNumber: UInt64 = 0
    }

    private let inbox = Mutex(Inbox())
    /// A byte in it makes the thread read the inbox.
    private let bell: DescriptorPair

    init() {
        guard let bell = try? DescriptorPair(isBlocking: false) else {
            preconditionFailure("no descriptor left for the tests")
        }
        self.bell = bell
        Thread.detachNewThread { [weak self] in
            let runner = CurlRunner(bell: bell.reading)
            while runner.turn({ self?.drain() ?? [.stop] }) {}
            close(bell.reading)
        }
    }

    deinit {
        ring()
        close(bell.writing)
    }

    /// Starts a transfer; its data goes to the plan's closures, on the loop's thread.
    func start(_ plan: TransferPlan) -> UInt64 {
        let number = inbox.withLock { inbox in
            inbox.lastNumber += 1
            inbox.commands.append(.start(number: inbox.lastNumber, plan))
            return inbox.lastNumber
        }
        ring()
        return number
    }

    /// Closes the transfer's connection. Afterwards only the plan's `ended` is called.
    func cancel(_ number: UInt64) {
        inbox.withLock { $0.commands.append(.cancel(number: number)) }
        ring()
    }

    private func drain() -> [Command] {
        inbox.withLock { inbox in
            defer { inbox.commands = [] }
            return inbox.commands
        }
    }

    private func ring() {
        var one: UInt8 = 1
        _ = unsafe write(bell.writing, &one, 1)
    }
}

/// State of the loop's thread. Not `Sendable`: created and used there only.
@safe private final class CurlRunner {
    private let multi: UnsafeMutableRawPointer
    private let bell: Int32
    private var transfers: [UInt64: Transfer] = [:]
    private var rung = [UInt8](repeating: 0, count: 256)

    init(bell: Int32) {
        self.bell = bell
        guard let multi = unsafe curl_multi_init() else { preconditionFailure("curl_multi_init") }
        unsafe self.multi = unsafe multi
    }

    /// One turn: commands, then bytes, then ended transfers. False after `stop`.
    func turn(_ commands: () -> [CurlLoop.Command]) -> Bool {
        for command in commands() {
            switch command {
            case .start(let number, let plan): start(number, plan)
            case .cancel(let number): end(number, CURLE_ABORTED_BY_CALLBACK)
            case .stop:
                stop()
                return false
            }
        }
        var running: Int32 = 0
        _ = unsafe curl_multi_perform(multi, &running)
        collect()
        var extra = curl_waitfd(fd: bell, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        _ = unsafe curl_multi_poll(multi, &extra, 1, 60_000, nil)
        _ = unsafe read(bell, &rung, rung.count)
        return true
    }

    private func start(_ number: UInt64, _ plan: TransferPlan) {
        let transfer = Transfer(number, plan)
        transfers[number] = transfer
        _ = unsafe curl_multi_add_handle(multi, transfer.easy)
    }

    private func collect() {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            let result = unsafe ccurl_result(message)
            let easy = unsafe message.pointee.easy_handle
            guard let number = transfers.first(where: { unsafe $0.value.easy == easy })?.key
            else { continue }
            end(number, result)
        }
    }

    private func end(_ number: UInt64, _ result: CURLcode) {
        guard let transfer = transfers.removeValue(forKey: number) else { return }
        transfer.end(result)
        _ = unsafe curl_multi_remove_handle(multi, transfer.easy)
    }

    private func stop() {
        for number in transfers.keys { end(number, CURLE_ABORTED_BY_CALLBACK) }
        _ = unsafe curl_multi_cleanup(multi)
    }
}
