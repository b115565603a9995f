// Package reactor turns watch events into handler calls, and their results into patches.
// It knows Kubernetes, but not how guests run: it calls them through package guests. The
// root package has only Operator: start, stop, replacement of handlers, health.
//
// Read the packages in the order of an event:
//
//	observation  which resources and namespaces exist, and so which streams run
//	streams      one resource in one namespace: its watch, its queues, its handlers
//	watching     lists and watches a resource for ever
//	queueing     one queue for each object; slots for the workers
//	processing   one event: its cause, the plan, then the patch, a sleep or another read
//	daemons      daemons and timers of an object
//	handling     one attempt of one handler: filters, conversation, sub-handlers, outcome
//	patching     one patch in up to four requests
//	admission    reviews and conversions, which the API server requests
//	activities   startup, cleanup, logins, probes, background handlers
//	peering      pauses the operator while peers with a higher priority run
//
// CONTRIBUTING.md has a drawing with the imports between them, and lists the pure
// packages.
//
// Kopf: kopf._core.reactor (v1.45).
package reactor
