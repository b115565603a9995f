// Package handling calls handlers: which of them match a cause, one attempt of one handler,
// the conversation with its guest, its sub-handlers, and what its outcome means.
//
// A Cause is an Object, which all causes of one cycle share, and a Kind with what only this
// kind of cause has. Handlers of any kind go through Execution.
//
// Kopf: kopf._core.actions.execution, kopf._core.intents.causes (v1.45).
package handling
