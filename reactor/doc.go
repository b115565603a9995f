// Package reactor turns watch events into handler calls, and what the handlers
// leave into patches. It knows Kubernetes, but not how guests run: handlers are
// reached through the interfaces Guest and Task.
//
// The way of one event, file by file:
//
//	observation.go        which resources and namespaces there are
//	orchestration.go      one stream for each of them (package watching)
//	pauses.go             while other operators work, there are no streams
//	queues.go             one queue and one worker for each object
//	processor.go          one event: raw handlers, daemons, finalizers
//	changes.go            what has changed, and the handlers for that
//	background_memory.go  daemons and timers: which of them run (daemons.go, timers.go)
//	index_gate.go         the indices, before everything else
//	execution.go          which handlers are called now, and what their outcome means
//	conversation.go       one call: the conversation with the guest
//	subhandlers.go        the children of a handler
//	application.go        one patch, then the sleep for the delayed handlers
//
// Kopf: kopf._core.reactor (v1.45).
package reactor
