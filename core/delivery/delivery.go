// Package delivery brings what the bot says to the platform, once and in
// order, and alone knows what people have been shown.
//
// What is said is a [Row]; rows are stored before they are sent. A [Sender]
// sends the rows of a process, those left by an earlier one first. A [Writer]
// collects the answer of one turn, shows it while it grows, and turns it into
// rows at the end.
//
// Promises of the Sender:
//
//   - Posts of one conversation go out in the order of their IDs, one at a
//     time, except that the notices of a turn wait for its answer: no notice
//     goes out before the first part of the answer is confirmed. Conversations
//     do not wait for each other, and cost nothing while nothing is to be sent.
//   - Each row becomes one message. It is marked as Sending, durably, before
//     the platform is asked, and as Sent after the platform confirmed it. Where
//     that leaves the outcome open (a crash, a cut connection) the message is
//     looked for by its nonce; only if it is not there, or the platform cannot
//     look, it is posted again, with the same nonce.
//   - A send that the platform refuses is tried again after 1, 2, 4, 8 and 16
//     seconds and then given up. A post that it did not look at was not
//     refused: it is put off for ten minutes when the platform is out of reach
//     or asks for time, and for half an hour when it waits for our own limits.
//     A process that starts anew gives it that time again.
//   - When the first part of an answer is given up, the answer is; its other
//     parts and its notices are not sent any more. When a later part is given
//     up, the thread is told that the rest is missing.
//
// Promises about previews: a row without text belongs to an answer that is
// still being written, and the Sender leaves it alone. In state Preview its
// message exists (or, without a PlatformID, may exist); in state Queued it does
// not. The commit of the turn gives it the final text. A row with text and a
// PlatformID is sent by editing that message, and if the platform refuses that
// for good, by taking the message away and posting anew; if it cannot be taken
// away either, people are told that it was interrupted. A status message is in
// state Preview while it is shown; whoever runs its turn takes it away.
//
// Kept over a crash at any instant: which rows are to be sent, and which
// message belongs to which row. Lost: what a preview showed last.
package delivery
