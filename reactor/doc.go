// Package reactor turns watch events into handler calls, and what the handlers
// leave into patches. It knows Kubernetes, but not how guests run: handlers are
// reached through the interfaces Guest and Task.
//
// The way of one event, file by file:
//
//	observation.go    which resources and namespaces there are
//	orchestration.go  one stream for each of them (package watching)
//	pausing.go        while other operators work, there are no streams
//	queueing.go       one queue and one worker for each object
//	processing.go     one event: raw handlers, daemons, finalizers
//	changing.go       what has changed, and the handlers for that
//	spawning.go       daemons and timers: which of them run (daemons.go, timers.go)
//	indexing.go       the indices, before everything else
//	executing.go      which handlers are called now, and what their outcome means
//	invoking.go       one call: the conversation with the guest
//	subhandling.go    the children of a handler
//	applying.go       one patch, then the sleep for the delayed handlers
//
// Kopf: kopf._core.reactor (v1.45).
package reactor
