#if os(Linux)
    internal import CClientCurl
    internal import Glibc

    /// The transport's thread: libcurl's multi interface.
    ///
    /// Not `Sendable`: after its creation it is used on that thread alone. libcurl calls the transfers
    /// back within `curl_multi_perform` and `curl_easy_pause`; these calls change nothing here, so a
    /// handle is added and removed only between them, as libcurl demands.
    @safe final class CurlRunner {
        private let multi: UnsafeMutableRawPointer
        private let mailbox: CurlMailbox
        private let settings: CurlSettings
        private var transfers: [UInt64: CurlTransfer] = [:]
        /// The same transfers, by their easy handles' addresses.
        private var numbers: [UInt: UInt64] = [:]
        /// Requests for which no room is, in their order. Invariant: bounded by the mailbox's limit.
        private var waiting: ArraySlice<Waiting> = []
        /// Transfers that are no streams.
        private var countedTransfers = 0
        private let round = CurlRound()

        private struct Waiting {
            let handle: CurlHandle
            let request: TransportRequest
            let receiver: any TransportReceiver
        }

        init(
            _ multi: UnsafeMutableRawPointer, _ mailbox: CurlMailbox, _ settings: CurlSettings
        ) {
            unsafe self.multi = unsafe multi
            self.mailbox = mailbox
            self.settings = settings
        }

        func run() {
            var isRung = false
            while let commands = mailbox.dequeue(isRung: isRung) {
                for command in commands { perform(command) }
                var running: Int32 = 0
                _ = unsafe curl_multi_perform(multi, &running)
                collect()
                startWaiting()
                round.end()
                isRung = wait()
            }
            stop()
        }

        /// - Returns: whether the bell has ended the wait.
        private func wait() -> Bool {
            var bell = curl_waitfd()
            bell.fd = mailbox.bell
            bell.events = Int16(CURL_WAIT_POLLIN)
            // The time is a bound without a meaning: libcurl's own timers end it before, and the bell
            // ends it at once.
            let code = unsafe curl_multi_poll(multi, &bell, 1, 60_000, nil)
            // Without memory it would return at once, again and again.
            if code != CURLM_OK { _ = poll(nil, 0, 100) }
            return bell.revents != 0
        }

        /// Ends everything, also if the thread has never run.
        func stop() {
            for command in mailbox.close() {
                guard case .start(_, _, let receiver) = command else { continue }
                round.end(receiver, Self.stopped)
            }
            for one in waiting { round.end(one.receiver, Self.stopped) }
            waiting = []
            for number in transfers.keys.sorted() {
                remove(number)?.end(CURLE_ABORTED_BY_CALLBACK, because: Self.stopped)
            }
            round.end()
            _ = unsafe curl_multi_cleanup(multi)
        }

        private static let stopped = TransportFailure(.cancelled, "the transport has ended")

        private func perform(_ command: CurlMailbox.Command) {
            switch command {
            case .start(let handle, let request, let receiver):
                let new = Waiting(handle: handle, request: request, receiver: receiver)
                if request.isStream || (waiting.isEmpty && hasRoom) {
                    begin(new)
                } else {
                    waiting.append(new)
                }
            case .resume(let number):
                guard let transfer = transfers[number] else { return }
                let result = transfer.resume()
                if result != CURLE_OK { end(number, result) }
            case .cancel(let number):
                if let index = waiting.firstIndex(where: { $0.handle.number == number }) {
                    mailbox.requestEnded()
                    let one = waiting.remove(at: index)
                    return round.end(one.receiver, CurlTransfer.cancelled)
                }
                end(number, CURLE_ABORTED_BY_CALLBACK)
            }
            startWaiting()
        }

        private func startWaiting() {
            while hasRoom, let next = waiting.popFirst() { begin(next) }
        }

        private var hasRoom: Bool { countedTransfers < max(settings.requestsAtOnce, 1) }

        private func begin(_ new: Waiting) {
            let number = new.handle.number
            do throws(TransportFailure) {
                let transfer = try CurlTransfer(
                    new.handle, new.request, new.receiver, round, settings)
                let code = unsafe curl_multi_add_handle(multi, transfer.easy)
                guard code == CURLM_OK else {
                    throw TransportFailure(
                        .exhausted, "libcurl does not accept the request: \(code)")
                }
                transfers[number] = transfer
                numbers[transfer.address] = number
                if !transfer.isStream { countedTransfers += 1 }
            } catch {
                mailbox.requestEnded()
                round.end(new.receiver, new.handle.isCancelled ? CurlTransfer.cancelled : error)
            }
        }

        private func collect() {
            var left: Int32 = 0
            while let message = unsafe curl_multi_info_read(multi, &left) {
                guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
                let result = unsafe ccurl_result(message)
                guard let easy = unsafe message.pointee.easy_handle,
                    let number = numbers[UInt(bitPattern: easy)]
                else { continue }
                end(number, result)
            }
        }

        private func end(_ number: UInt64, _ result: CURLcode) { remove(number)?.end(result) }

        private func remove(_ number: UInt64) -> CurlTransfer? {
            guard let transfer = transfers.removeValue(forKey: number) else { return nil }
            numbers[transfer.address] = nil
            _ = unsafe curl_multi_remove_handle(multi, transfer.easy)
            if !transfer.isStream { countedTransfers -= 1 }
            mailbox.requestEnded()
            return transfer
        }
    }
#endif
