// Package queueing hands the events of each object to its handling, one at a time and in
// their order, with a bounded number of workers.
//
// Kopf: kopf._core.reactor.queueing (v1.45).
package queueing
