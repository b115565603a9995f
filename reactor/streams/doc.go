// Package streams serves one resource in one namespace. Its watch feeds the queues of its
// objects, and processing handles their events with the current handlers.
package streams
