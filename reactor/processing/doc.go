// Package processing handles one event of one object. A cycle first detects what has
// happened, and calls the handlers that are due (decision.go, changes.go). Then the worker
// of the object patches it, sleeps, or reads it again (cycle.go).
//
// Kopf: kopf._core.reactor.processing, kopf._core.reactor.inventory (v1.45).
package processing
