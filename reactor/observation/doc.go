// Package observation discovers which resources and namespaces exist, and keeps one stream
// running for each pair of them that handlers demand.
//
// Kopf: kopf._core.reactor.observation, kopf._core.reactor.orchestration (v1.45).
package observation
