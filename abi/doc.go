// Package abi is the contract between the host and its guests: the names of exports and host
// functions, and the messages that they exchange. SPEC.md in this directory describes the
// contract in words, and takes precedence.
//
// The whole exchange, in ten lines:
//
//  1. The host finds the export that names the version (ExportVersion).
//  2. It calls register once; the guest returns a Registration.
//  3. For each call of a handler it calls start with a frame: an Invocation,
//     then the raw body of the object. The guest returns a Step.
//  4. A step is the end (StepDone) or a request (StepWait, StepExecute, StepCall).
//     The host fulfils the request and calls resume with an Answer, until the end.
//  5. A task with children or transformations exists until it is released.
//  6. The host calls ask for filters and options that are functions.
//  7. Meanwhile, the guest may call host functions for short questions: log,
//     segment, memo, and so on. They never suspend and never re-enter the guest. Only call
//     blocks, for guests that cannot wait by steps.
//
// The package has no I/O, no goroutines and no Kubernetes types, and imports
// almost nothing, so that every guest can compile it.
package abi

//go:generate go run ./internal/schema . schema/v1.json
