// Package streams serves one resource in one namespace: its watch feeds the queues of its
// objects, and their events go to the processing with the present handlers.
package streams
