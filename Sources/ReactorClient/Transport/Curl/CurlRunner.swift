#if os(Linux)
    internal import CClientCurl
    internal import Glibc

    /// The transport's thread: libcurl's multi interface, driven by events.
    ///
    /// Not `Sendable`: after its creation it is used on that thread alone. libcurl calls the
    /// transfers back within `curl_multi_socket_action` and `curl_easy_pause`; these calls change
    /// nothing here, so a handle is added and removed only between them, as libcurl demands.
    @safe final class CurlRunner {
        private let sockets: CurlSockets
        private let multi: UnsafeMutableRawPointer
        private let mailbox: CurlMailbox
        private let settings: CurlSettings
        private var transfers: [UInt64: CurlTransfer] = [:]
        /// The numbers of these transfers, by the addresses of their easy handles.
        private var numbers: [UInt: UInt64] = [:]
        /// Requests without room, in order. Invariant: bounded by the mailbox's limit.
        private var waiting: ArraySlice<Waiting> = []
        private var countedTransfers = 0
        private var idleHandles = CurlEasyPool()
        private let round = CurlRound()

        private struct Waiting {
            let handle: CurlHandle
            let request: TransportRequest
            let receiver: any TransportReceiver
        }

        /// Becomes the owner of `multi`.
        init(
            _ multi: UnsafeMutableRawPointer, _ mailbox: CurlMailbox, _ sockets: CurlSockets,
            _ settings: CurlSettings
        ) {
            unsafe self.multi = unsafe multi
            self.mailbox = mailbox
            self.sockets = sockets
            self.settings = settings
            unsafe sockets.serve(multi)
        }

        func run() {
            var events: [CurlSockets.Event] = []
            var isRung = false
            while let commands = mailbox.dequeue(isRung: isRung) {
                perform(commands, events)
                events = sockets.waitForEvents()
                isRung = events.contains { $0.descriptor == mailbox.bell }
            }
            stop()
        }

        /// Carries out commands, what has become ready, and what follows at once.
        private func perform(_ commands: [CurlMailbox.Command], _ events: [CurlSockets.Event]) {
            for command in commands { perform(command) }
            perform(events)
            // The response and the event of one action come some 20 µs apart: one round for both
            // wakes the client once. Bounded, because others wait for its end.
            for _ in 0..<4 where !events.isEmpty {
                let more = sockets.readyEvents()
                if more.isEmpty { break }
                perform(more)
            }
            round.end()
        }

        private func perform(_ events: [CurlSockets.Event]) {
            for event in events where sockets.isCurrent(event) {
                act(event.descriptor, event.actions)
            }
            for descriptor in sockets.unwatched { act(descriptor, 0) }
            // Bounded: what is left has a deadline that has passed.
            for _ in 0..<8 {
                if sockets.takeDeadline(at: .now) { act(CURL_SOCKET_TIMEOUT, 0) }
                collect()
                startWaiting()
                if !sockets.isDue(at: .now) { break }
            }
        }

        private func act(_ descriptor: Int32, _ actions: Int32) {
            var running: Int32 = 0
            _ = unsafe curl_multi_socket_action(multi, descriptor, actions, &running)
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
            idleHandles = CurlEasyPool()
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
                    new.handle, new.request, new.receiver, round, settings,
                    easy: idleHandles.dequeue(for: new.request))
                let code = unsafe curl_multi_add_handle(multi, transfer.easy.pointer)
                guard code == CURLM_OK else {
                    throw TransportFailure(
                        .exhausted, "libcurl does not accept the request: \(code)")
                }
                transfers[number] = transfer
                numbers[transfer.easy.address] = number
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

        private func end(_ number: UInt64, _ result: CURLcode) {
            guard let transfer = remove(number) else { return }
            if result == CURLE_OK { idleHandles.add(transfer.easy) }
            transfer.end(result)
        }

        private func remove(_ number: UInt64) -> CurlTransfer? {
            guard let transfer = transfers.removeValue(forKey: number) else { return nil }
            numbers[transfer.easy.address] = nil
            _ = unsafe curl_multi_remove_handle(multi, transfer.easy.pointer)
            if !transfer.isStream { countedTransfers -= 1 }
            mailbox.requestEnded()
            return transfer
        }
    }
#endif
