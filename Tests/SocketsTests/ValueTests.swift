import Glibc
import Testing

@testable import Sockets

@Suite("Descriptions and conversions of small values", .timeLimit(.minutes(60)))
struct ValueTests {
    @Test func `a failure names its operation, its subject, the system's sentence and the code`() {
        let failure = SystemFailure(operation: "bind", code: EACCES, detail: "127.0.0.1:80")
        #expect("\(failure)" == "bind 127.0.0.1:80: Permission denied (13)")
        #expect(
            "\(SystemFailure(operation: "socket", code: EMFILE))"
                == "socket: Too many open files (24)")
    }

    @Test func `peers are written as in a URL`() {
        #expect("\(PeerAddress.ipv4(0xC000_0201, port: 80))" == "192.0.2.1:80")
        let peer = PeerAddress.ipv6(high: 0x2001_0DB8 << 32, low: 1, scope: 0, port: 443)
        #expect("\(peer)" == "[2001:db8::1]:443")
        #expect(PeerAddress.ipv6(high: 0xFE80 << 48, low: 5, scope: 2, port: 1).host == "fe80::5%2")
        #expect("\(PeerAddress.local)" == "local")
    }

    @Test func `listen addresses are written as given`() {
        #expect("\(ListenAddress.tcp(host: "::1", port: 80))" == "[::1]:80")
        #expect("\(ListenAddress.tcp(host: "localhost", port: 0))" == "localhost:0")
        #expect("\(ListenAddress.unix(path: "/run/a.sock"))" == "unix:/run/a.sock")
    }

    @Test func `a connection's id survives packing into one word`() {
        for (slot, generation) in [(0, 1), (1, 0), (.max, .max), (7, .max), (.max, 9)]
            as [(UInt32, UInt32)]
        {
            let id = ConnectionID(slot: slot, generation: generation)
            #expect(ConnectionID(id.token) == id)
        }
    }

    @Test func `instants add and subtract durations, and stop at the end of time`() {
        let start = LoopInstant(nanoseconds: 5)
        #expect(start + .milliseconds(2) == LoopInstant(nanoseconds: 2_000_005))
        #expect(start + .seconds(-1) == LoopInstant(nanoseconds: -999_999_995))
        #expect((start + .seconds(3)) - start == .seconds(3))
        #expect(start < start + .nanoseconds(1))
        #expect(start + .seconds(Int64.max / 2) == LoopInstant(nanoseconds: .max))
        #expect(LoopInstant(nanoseconds: .max) + .seconds(1) == LoopInstant(nanoseconds: .max))
        #expect(start + .seconds(Int64.min / 2) == LoopInstant(nanoseconds: .min))
    }

    @Test func `errors of a connection are reported by their meaning`() {
        #expect(CloseReason(code: ECONNRESET) == .reset)
        #expect(CloseReason(code: EPIPE) == .reset)
        #expect(CloseReason(code: ECONNREFUSED) == .refused)
        #expect(CloseReason(code: ETIMEDOUT) == .timedOut)
        #expect(CloseReason(code: EHOSTUNREACH) == .failed(code: EHOSTUNREACH))
    }

    @Test func `slots keep their contents when the table grows`() {
        let slots = ConnectionSlots()
        for number in 0..<1_000 {
            slots.append(ConnectionSlot(descriptor: Int32(number), generation: UInt32(number)))
            slots[number / 2].failure = Int32(number)
        }
        #expect(slots.count == 1_000)
        for (number, slot) in slots.enumerated() {
            #expect(slot.descriptor == Int32(number) && slot.generation == UInt32(number))
            #expect(slot.failure == (number < 500 ? Int32(number * 2 + 1) : 0))
        }
    }

    @Test func `a connection costs at most 96 bytes while it is idle`() {
        #expect(MemoryLayout<ConnectionSlot>.stride <= 24)
    }
}
