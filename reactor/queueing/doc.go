// Package queueing passes the events of each object to its handling, one at a time and in
// order, with a limited number of workers. Queues has the events of all objects, Queue those of one
// object, and its worker waits and sleeps through it.
//
// Kopf: kopf._core.reactor.queueing (v1.45).
package queueing
