package vectors

import (
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

var diffFunctions = map[string]Function{
	"diffs":       {Call: diff, Equal: sameInAnyOrder},
	"diff-reduce": {Call: reduceDiff, Equal: sameInAnyOrder},
}

func diff(c Case) (any, error) {
	scope := diffs.Full
	switch c.In["scope"] {
	case "left":
		scope = diffs.Left
	case "right":
		scope = diffs.Right
	}
	return diffs.Compute(c.In["a"], c.In["b"], scope).JSON(), nil
}

func reduceDiff(c Case) (any, error) {
	path, err := dicts.ParsePath(c.In["path"])
	if err != nil {
		return nil, err
	}
	return diffs.Reduce(diffs.Compute(c.In["a"], c.In["b"], diffs.Full), path).JSON(), nil
}
