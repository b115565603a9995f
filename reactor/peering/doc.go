// Package peering keeps an operator known to its peers, and makes it pause as they demand.
// Package peers judges them.
//
// Kopf: kopf._core.engines.peering (v1.45).
package peering
