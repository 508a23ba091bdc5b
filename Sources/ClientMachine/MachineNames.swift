// The names of values for a module that has public types of the same names. Why aliases: a name
// cannot be qualified by this module's, which is also the name of a type.

package typealias TicketNumber = Ticket
package typealias MachineReceipt = Receipt
package typealias MachineProblem = ProblemDetails
package typealias MachineLinkStatus = LinkStatus
package typealias MachineEnd = EndReason
