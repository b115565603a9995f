// Package nowait reads and writes without a word to Go's scheduler, where the calls of the system do not wait.
//
// The scheduler looks after calls that may wait: each one that the packages net and os make in an idle process wakes its
// monitor, a thread that then looks every 20 microseconds whether a call takes long. Operators are idle between most of their
// messages, so the monitor took a seventh of the computing time. Sockets of Go never wait, as its poller does it for them,
// pipes take writes that do not wait, and other files say whether they would.
//
// On systems other than Linux, the functions return what they get.
//
// See RATIONALE.md, "Why are sockets read and written without the scheduler?"
package nowait
