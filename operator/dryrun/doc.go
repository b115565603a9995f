// Package dryrun puts a cluster that only seems to change between an operator and the real
// one. The operator lists, watches and reads the real objects. Its patches are kept in memory,
// and put over the objects that it reads from then on, so that it continues as if it had
// written them. Requests of guests that write are dry runs of the API server. Each of these is
// reported.
//
// See RATIONALE.md, "Where is the state of a dry run?".
package dryrun
