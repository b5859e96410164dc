// Package core holds the words that every other room uses and the two halves
// of the socket between a chat platform and the bot.
//
// The words: a [Message] was said by somebody in a [Thread]; a thread is the
// address of a conversation and, through [Thread.Key], the identity of a
// session. A [Post] is something the bot says. A [Secret] never prints itself.
//
// The socket: an adapter implements [Platform] (outbound) and calls a
// [Handler] (inbound). Promises of the two halves:
//
//   - Handler.Message returns nil only after the message is stored or is known
//     already; an adapter acknowledges to its platform after that and not
//     before. An error means that nothing was stored.
//   - Platform.Post returns a nil error only for a post that the platform
//     confirmed. Every other outcome is a [*SendError], which says whether the
//     post may have happened all the same.
//   - Keys are opaque outside of this package: they are made by one function
//     and never taken apart.
//
// Nothing here does I/O or starts a goroutine; all values are safe to copy.
package core
