package vectors

import (
	"flag"
	"os"
	"testing"
)

var folder = flag.String("vectors", defaultFolder(), "the folder with the recordings (also $VECTORS)")

func defaultFolder() string {
	if folder := os.Getenv("VECTORS"); folder != "" {
		return folder
	}
	return "../conformance/vectors"
}

func TestVectors(t *testing.T) {
	results, err := Run(*folder, Functions())
	if err != nil {
		t.Fatal(err)
	}
	// The totals are printed last, after all tests of the package.
	t.Cleanup(func() { Report(os.Stdout, results) })
	for _, file := range results {
		t.Run(file.Name, func(t *testing.T) {
			if file.Skipped {
				t.Skip("not implemented")
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
