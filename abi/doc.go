// Package abi is the contract between the host and its guests: the names of exports and host
// functions, and the messages that they exchange. SPEC.md in this directory describes the
// contract in words, and takes precedence.
//
// The whole exchange, in ten lines:
//
//  1. The host finds the export that names the version (ExportVersion).
//  2. It calls register once; the guest answers a Registration.
//  3. For each call of a handler it calls start with a frame: an Invocation,
//     then the raw body of the object. The guest answers a Step.
//  4. A step is the end (StepDone) or a wish (StepWait, StepExecute, StepCall).
//     The host fulfils the wish and calls resume with an Answer, until the end.
//  5. A task with children or transformations lives on until it is released.
//  6. Filters and options that are functions are answered by ask.
//  7. Meanwhile the guest may ask short questions by host functions: log,
//     segment, memo, and so on. They never suspend it and never re-enter it.
//
// The package holds no I/O, no goroutines and no Kubernetes types, and imports
// almost nothing, so that every guest can compile it.
package abi

//go:generate go run ./internal/schema . schema/v1.json
