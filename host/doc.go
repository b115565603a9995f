// Package host runs guest modules: WebAssembly files that speak the ABI of package abi. It
// does not depend on Kubernetes, and it does not log: it returns errors, and asks the Env of
// an invocation.
//
// # The way of a module
//
// Load reads the bytes, and refuses a file that is not a guest. It rewrites the code so that
// the code can be interrupted (package prepare), and compiles it through a cache on disk. It
// then asks the guest for its registration. The Module keeps a pool of instances.
//
// # The way of an invocation
//
// Module.Start takes an exclusive instance from the pool, and returns a Task and its first
// step. Task.Resume leads to the next step, until the step is abi.StepDone. Task.Start runs
// a child on the same instance. Task.Release returns the instance to the pool.
//
// # What differs between guests
//
// A module that was made with an SDK, a plugin of Extism, and a native program pass messages
// and arguments in different ways. Each is a package below guests, behind the interface
// guests.Guest. This package runs the guest and enforces limits, and does not ask which kind
// it has. The functions that guests import are in packages wasi and functions, and in the
// kinds.
//
// # What a guest can do to the host
//
// Nothing. A guest that traps, loops, recurses, sleeps, exhausts memory or sends invalid
// answers makes only its running call fail, with a GuestError. The host discards the
// instance and the tasks on it. Other instances are not affected.
package host
