// Package queueing passes the events of each object to its handling, one at a time and in
// order, with a limited number of workers.
//
// Kopf: kopf._core.reactor.queueing (v1.45).
package queueing
