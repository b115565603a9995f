// Package membership divides the objects of an operator between its replicas, the members, so that each object belongs to
// exactly one of them.
//
//   - Each member has a Lease of its own, which it renews. It acts only while this Lease is certainly alive, by the rules of
//     package leadership.
//   - One member is the coordinator: the leader of the election. It notes the Assignment on the Lease of the election, so that no
//     former coordinator can write one.
//   - The owner of an object follows from its UID and the list of members: see owners.
//   - A new list has a new generation. A member that has ended its work on all objects that it loses acknowledges the generation on
//     its own Lease. Another member begins with these objects only then, or when the Lease has certainly ended. The coordinator
//     makes the next generation only when no acknowledgement is missing, so that two lists matter at most.
//
// The package knows no objects except for their keys, and calls no handlers. docs/replicas.md has the assumptions and the
// argument.
package membership
