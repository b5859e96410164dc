// Package failover decides which model answers a turn.
//
// The decisions are made by a step machine, [Run], one per turn. It is pure:
// from what happened so far, the states of the profiles and the time it says
// what to do next, which is one of
//
//   - ask this candidate with this profile,
//   - wait until this moment,
//   - give up, with a [*SummaryError].
//
// A run lives as long as its turn and is asked once for every model call of
// it, so that it remembers its place in the chain, the profiles that failed,
// and what the turn has already shown. [Turn] drives a run in time: it makes
// the requests, books their outcome the moment they happen, sleeps, sends the
// one status notice, and takes up a model that the user chose meanwhile.
// Other drivers play the same machine faster.
//
// What is promised, for every run:
//
//   - A strict plan asks its one model and no other.
//   - Nothing here can change a selection: the package knows no sessions.
//   - A block is booked on the profile and model of the attempt that failed.
//     A failure inside a live window neither moves its end nor raises its step,
//     unless the provider named a later end itself. Every block ends by itself.
//   - No second profile or candidate is asked once output was shown, and no
//     pass is started once a tool was.
//   - This is the only layer that asks again. The number of requests of a turn
//     is bounded; [Run.Bound] computes it.
//   - Time comes in as an argument, or through the two functions in [Config].
//
// Runs and turns are used by one goroutine, except for [Turn.Output] and
// [Turn.Tool]. Engines, throttles and skip caches are safe for concurrent use.
package failover
