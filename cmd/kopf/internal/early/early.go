// Package early lowers the peak of memory while the program initialises its packages: when
// it is initialised itself, it releases the pages that the packages before it have touched.
// Import it for this effect only.
//
// Go initialises the packages in the order of their import paths, as far as their own
// imports allow. This package imports little, and its path comes before those of most
// libraries, so it is initialised in the first half: TestEarly.
//
// See RATIONALE.md, "Why does an operator release the pages of its program after the start?"
package early

import "github.com/kopf-wasm/kopf/internal/resident"

func init() { _, _ = resident.Release() } // without it, the program runs as well, in more memory
