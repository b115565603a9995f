// Package prepare rewrites a WebAssembly module so that a host can interrupt
// it, bound it and clone it, for any code. It is pure: bytes in, bytes out.
//
// # Why
//
// Go cannot preempt machine code that loops, and the next garbage collection of the host
// would wait for it indefinitely. The code itself must therefore return to the host
// regularly.
//
// # What reaches the engine
//
// Everything in a module is decoded by the grammar of the accepted features (see grammar.go) and
// encoded again in the shortest form: module has decoded values, canonicalCode the code. The rewriter
// and its result know nothing else. Bytes stay the same in data segments, in constants of floats and
// vectors, and in names that are valid text.
//
// # What is changed
//
//   - A private global counts down at the beginning of functions and of loops, by
//     the maximum cost of the code after it (see costs.go); functions that are a single loop
//     have one check, not two, and short loops one for several iterations. When the budget is spent, the
//     host function yield is called and returns a new budget.
//   - Jumps of Go's compiler take no way through a loop where they need none: see jumps.go.
//   - Instructions that work on ranges of memory or of tables, and memory.grow,
//     become calls of functions that charge for the length, and split long ranges. A global tells
//     the host that memory.grow has failed.
//   - Tables get an upper bound.
//   - Active data segments and the start function are removed, and mutable
//     globals are exported: the host does the initialisation, or maps the memory of
//     an initialised instance, and sets the globals.
//   - A further export calls the others, so the host needs a stack for one function only.
//   - Names of functions are kept for stack traces. Other custom sections are dropped.
//
// # What is refused
//
// Everything outside of the grammar, and indices of missing items. The error names the feature or
// the fault, and the offset. Types of operands are not checked: Prepared.Canonical and Prepared.Wasm must be
// validated by the engine.
//
// # Resources
//
// Memory and time are linear in the size of the module: see TestWorstModulesAreBounded.
package prepare
