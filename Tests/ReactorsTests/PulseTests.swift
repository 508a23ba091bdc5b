import Reactors
import Testing

@Suite("Pulse — every assignment counts", .timeLimit(.minutes(60)))
struct PulseTests {
    private struct Holder {
        @Pulse var value = 0
        @Pulse var items: [Int] = []
        var other = 0
    }

    @Test func `case 1: a fresh pulse has count 0`() {
        #expect(Holder().$value.valueUpdatedCount == 0)
    }

    @Test func `a printed state has the values of its pulses`() {
        #expect("\(Holder(value: 7, items: [1]))" == "Holder(_value: 7, _items: [1], other: 0)")
    }

    @Test func `case 2: each assignment raises the count, reading does not`() {
        var holder = Holder()
        var counts = [holder.$value.valueUpdatedCount]
        for step in [10, nil, 20, 20, 20, nil, 30, 30] {
            if let step { holder.value = step }
            counts.append(holder.$value.valueUpdatedCount)
        }
        #expect(counts == [0, 1, 1, 2, 3, 4, 4, 5, 6])
    }

    @Test func `case 5: the count wraps from the greatest to 0, and both assignments are seen`() {
        var pulse = Pulse(value: 0, valueUpdatedCount: .max)
        let marks =
            [pulse.mark]
            + [1, 2].map { value in
                pulse.value = value
                return pulse.mark
            }
        #expect(marks.map(\.count) == [.max, 0, 1])
        #expect(marks[1].isAssignment(since: marks[0]))
        #expect(marks[2].isAssignment(since: marks[1]))
    }

    @Test func `case 6: counting like the seeds' older text gives the same sequence`() {
        var pulse = Pulse(value: 0, valueUpdatedCount: .max - 2)
        var older = UInt.max - 2
        for value in 0..<6 {
            pulse.value = value
            if older == UInt.max { older = UInt.min } else { older += 1 }
            #expect(pulse.valueUpdatedCount == older)
        }
    }

    @Test func `case 7: init is no assignment`() {
        #expect(Pulse(wrappedValue: "Hello tokijh").valueUpdatedCount == 0)
    }

    @Test func `case 8: a copy keeps its own count, and pulses differ although values are equal`() {
        var messagePulse: Pulse<String?> = Pulse(wrappedValue: "Hello tokijh")
        let oldMessagePulse = messagePulse
        #expect(oldMessagePulse == messagePulse)
        messagePulse.value = "Hello tokijh"
        #expect(oldMessagePulse != messagePulse)
        #expect(oldMessagePulse.valueUpdatedCount != messagePulse.valueUpdatedCount)
        #expect(oldMessagePulse.value == messagePulse.value)
        #expect(messagePulse.mark.isAssignment(since: oldMessagePulse.mark))
    }

    @Test func `case 9: copying a whole state does not count`() {
        let old = Holder()
        var new = old
        new.other = 1
        #expect(new.$value.valueUpdatedCount == 0)
        #expect(!new.$value.mark.isAssignment(since: old.$value.mark))
    }

    @Test func `case 11: a change in place counts once and does not copy the value`() {
        var holder = Holder()
        holder.items.reserveCapacity(20_001)
        let count = holder.$items.valueUpdatedCount
        holder.items.append(0)
        let address = holder.items.address
        for number in 1...20_000 { holder.items.append(number) }
        #expect(holder.items.address == address)
        #expect(holder.$items.valueUpdatedCount == count + 20_001)
    }

    @Test func `a change in place that ends with an error counts once`() {
        var holder = Holder()
        func spoil(_ value: inout Int) throws {
            value = 7
            throw Mishap()
        }
        #expect(throws: Mishap.self) { try spoil(&holder.value) }
        #expect(holder.value == 7)
        #expect(holder.$value.valueUpdatedCount == 1)
    }

    @Test func `an assignment in a replaced state is detected by its count alone`() {
        let old = Pulse(value: 1, valueUpdatedCount: 1)
        #expect(!Pulse(wrappedValue: 1).mark.isAssignment(since: old.mark))
        #expect(Pulse(value: 1, valueUpdatedCount: 1).mark.isAssignment(since: old.mark))
        #expect(!old.mark.isAssignment(since: old.mark))
    }

    @Test func `equality and hash depend on value and count, not on origin`() {
        #expect(Pulse(wrappedValue: 1) == Pulse(wrappedValue: 1))
        #expect(Set([Pulse(wrappedValue: 1), Pulse(wrappedValue: 1)]).count == 1)
        #expect(Pulse(value: 1, valueUpdatedCount: 1) != Pulse(wrappedValue: 1))
    }
}

extension [Int] {
    // Only compared, never read from.
    fileprivate var address: UInt {
        unsafe withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }
}
