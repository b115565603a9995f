package vectors

import (
	"fmt"
	"io"
)

// shownMismatches is how many mismatches of one file are printed.
const shownMismatches = 20

// Report prints the results for people, the totals at the very end, and tells
// whether nothing has failed.
func Report(w io.Writer, results []FileResult) bool {
	passed, failed := 0, 0
	for _, file := range results {
		passed += file.Passed
		failed += len(file.Mismatches)
		if file.Unknown {
			fmt.Fprintf(w, "%-26s FAILED: there is no function for it\n", file.Name)
			failed++
			continue
		}
		fmt.Fprintf(w, "%-26s %d passed, %d failed\n", file.Name, file.Passed, len(file.Mismatches))
		for i, m := range file.Mismatches {
			if i == shownMismatches {
				fmt.Fprintf(w, "  … and %d more\n", len(file.Mismatches)-i)
				break
			}
			fmt.Fprintf(w, "  %s\n", m.describe(file.Name))
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	return failed == 0
}

func (m Mismatch) describe(file string) string {
	return fmt.Sprintf("%s #%d\n    in:       %s\n    expected: %s\n    got:      %s", file, m.Index, m.In, m.Expected, m.Got)
}
