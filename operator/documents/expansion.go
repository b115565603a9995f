package documents

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Bounds of the values of a file, in bytes. What an alias stands for counts for each alias: a few lines of aliases of
// aliases stand for terabytes.
const (
	maxExpanded = 64 << 20
	perValue    = 8 // in addition to the text
)

// expansion is the size of the values of a file.
type expansion struct {
	total int
	known map[*yaml.Node]int // of what aliases can stand for; open while it is being counted
}

// open is the size of a value whose end was not reached.
const open = -1

func newExpansion() *expansion { return &expansion{known: map[*yaml.Node]int{}} }

// add counts a document.
func (e *expansion) add(n Node) error {
	size, err := e.size(n)
	if err != nil {
		return err
	}
	if e.total += size; e.total > maxExpanded {
		return n.Errorf("%w", errExpanded)
	}
	return nil
}

var errExpanded = fmt.Errorf("%w: with what the aliases stand for, the file has more than %d MiB of values", bounded.ErrTooMuch, maxExpanded>>20)

// size is the size of a value with all that it contains. It is computed once for each value.
func (e *expansion) size(n Node) (int, error) {
	node := n.resolved()
	if size, ok := e.known[node]; ok {
		if size == open {
			return 0, n.Errorf("%w: the alias stands for what contains it", bounded.ErrTooMuch)
		}
		return size, nil
	}
	if node.Anchor != "" {
		e.known[node] = open
	}
	size := perValue + len(node.Value)
	for _, child := range node.Content {
		more, err := e.size(Node{n.File, child})
		if err != nil {
			return 0, err
		}
		if size += more; size > maxExpanded {
			return 0, n.Errorf("%w", errExpanded)
		}
	}
	if node.Anchor != "" {
		e.known[node] = size
	}
	return size, nil
}
