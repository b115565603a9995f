package vectors

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var folder = flag.String("vectors", defaultFolder(), "the folder with the recordings (also $VECTORS)")

func defaultFolder() string {
	if folder := os.Getenv("VECTORS"); folder != "" {
		return folder
	}
	return "../conformance/vectors"
}

// located finds relative folders also from the root of the module, where people
// start the tests: the tests themselves run in the folder of their package.
func located(folder string) string {
	if _, err := os.Stat(folder); err == nil || filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join("..", "..", folder)
}

func TestVectors(t *testing.T) {
	results, err := Run(located(*folder), Functions())
	if err != nil {
		t.Fatal(err)
	}
	// The totals are printed last, after all tests of the package.
	t.Cleanup(func() { Report(os.Stdout, results) })
	for _, file := range results {
		t.Run(file.Name, func(t *testing.T) {
			if file.Unknown {
				t.Fatal("there is no function for it")
			}
			for i, m := range file.Mismatches {
				if i == shownMismatches {
					t.Fatalf("and %d more", len(file.Mismatches)-i)
				}
				t.Error(m.describe(file.Name))
			}
			if file.Passed+len(file.Mismatches) == 0 {
				t.Error("there are no cases in the file")
			}
		})
	}
}
