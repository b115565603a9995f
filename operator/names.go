package operator

import (
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/reactor/guests"
)

// repository is the path of this Go module.
const repository = "github.com/kopf-wasm/kopf"

// version is the version of this Go module in the running program, or "devel" without one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == repository && module.Version != "" && module.Version != "(devel)" {
			return module.Version
		}
	}
	return "devel"
}

// registered is the name that the guests give their operator, or empty without one. Names of
// the process, such as file names, stay out of the cluster.
func (o *Options) registered(guests []guests.Guest) string {
	if o.Name != "" {
		return o.Name
	}
	var names []string
	for _, g := range guests {
		if name := g.Registration().Operator.Name; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}
