// Package handling calls handlers. It selects those that match a cause, makes one attempt
// of one handler, holds the conversation with its guest, runs its sub-handlers, and
// interprets its outcome.
//
// A Cause consists of an Object, which all causes of one cycle share, and a Kind with the
// data of this kind of cause. Handlers of all kinds go through Execution.
//
// Kopf: kopf._core.actions.execution, kopf._core.intents.causes (v1.45).
package handling
