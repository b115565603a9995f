package patches

import (
	"bytes"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// inPlace reports whether the items at each index are equal, or both are objects, or both
// are lists.
func inPlace(from, to []any) bool {
	for i := range min(len(from), len(to)) {
		_, _, objects := both[dicts.Object](from[i], to[i])
		_, _, lists := both[[]any](from[i], to[i])
		if !objects && !lists && !sameText(from[i], to[i]) {
			return false
		}
	}
	return true
}

// sameText reports whether two values have the same JSON, where not both are objects and not
// both are lists.
func sameText(a, b any) bool {
	return !nests(a) && !nests(b) && bytes.Equal(dicts.Encode(a), dicts.Encode(b))
}

func nests(v any) bool {
	switch v.(type) {
	case dicts.Object, []any:
		return true
	default:
		return false
	}
}

// commonStart counts the equal items at the start of both lists.
func commonStart(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// commonEnd counts the equal items at the end of both lists.
func commonEnd(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// common computes a longest common subsequence of two lists.
type common struct {
	a, b []string

	// lengths[i][j] is the length of the longest common subsequence of a[i:] and b[j:]. It
	// is nil if the lists are too long; then they count as having nothing in common.
	lengths [][]int32
}

// maxTable limits the memory of a comparison: the product of the lengths of both lists.
// maxCells limits the time of all comparisons for a patch: documents can have many lists.
const (
	maxTable = 1 << 20
	maxCells = 4 << 20
)

// common compares two lists, as long as there are cells left for tables.
func (d *differ) common(a, b []string) *common {
	c := &common{a: a, b: b}
	cells := len(a) * len(b)
	if cells > min(maxTable, d.cells) {
		return c
	}
	d.cells -= cells
	c.lengths = make([][]int32, len(a)+1)
	for i := range c.lengths {
		c.lengths[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				c.lengths[i][j] = c.lengths[i+1][j+1] + 1
				continue
			}
			c.lengths[i][j] = max(c.lengths[i+1][j], c.lengths[i][j+1])
		}
	}
	return c
}

// next returns the indices of the next common item from i and j on, or the lengths of the
// lists.
func (c *common) next(i, j int) (nextI, nextJ int) {
	if c.lengths == nil {
		return len(c.a), len(c.b)
	}
	for i < len(c.a) && j < len(c.b) && c.a[i] != c.b[j] {
		if c.lengths[i+1][j] >= c.lengths[i][j+1] {
			i++
		} else {
			j++
		}
	}
	if i == len(c.a) || j == len(c.b) {
		return len(c.a), len(c.b)
	}
	return i, j
}
