// Package peering announces an operator to its peers, and makes it pause when a peer's
// record demands it. Package peers evaluates the records.
//
// Kopf: kopf._core.engines.peering (v1.45).
package peering
