// Package daemons runs handlers for as long as their object exists: daemons and timers. An
// Engine starts and stops those of an object in its cycles. Runnables holds all that run,
// so that a pause or the exit of the operator stops them.
//
// Kopf: kopf._core.engines.daemons (v1.45).
package daemons
