// Package leadership elects one of several replicas of an operator, by a Lease of Kubernetes. The
// protocol and the object are those of client-go's leader election, so that its tools show the
// leader. Two rules are stricter:
//
//   - The leader acts only while it is certain that no other replica can be the leader: see
//     Election.Hold. In client-go, a leader that was paused does not know.
//   - A Lease that does not exist belongs to an unknown leader for the duration of the term. In
//     client-go, a Lease that is deleted gives a second leader at once.
//
// docs/replicas.md has the assumptions and the argument.
//
// Source: https://kubernetes.io/docs/concepts/architecture/leases/
package leadership
