// Package host runs guest modules: WebAssembly files that speak the ABI of
// package abi. It knows no Kubernetes and logs nothing: it returns errors, and
// asks the Env of an invocation.
//
// # The way of a module
//
// Load reads the bytes, refuses what is no guest, rewrites the code so that it
// can be interrupted (package prepare), compiles it through a cache on disk,
// and asks the guest for its registration. The Module then keeps a pool of
// instances.
//
// # The way of an invocation
//
// Module.Start takes an instance of the pool for itself and returns a Task and
// its first step. Task.Resume leads from step to step, until the step is
// abi.StepDone. Task.Start runs a child on the same instance. Task.Release gives
// the instance back.
//
// # What a guest can do to the host
//
// Nothing: a guest that traps, loops, recurses, sleeps, eats memory or answers
// nonsense makes the running call fail with a GuestError. Its instance is thrown
// away, and with it the tasks on it; neighbours do not notice.
package host
