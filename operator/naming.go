package operator

import (
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/reactor/guests"
)

// repository is the module that this program is, or is made of.
const repository = "github.com/kopf-wasm/kopf"

// version is that of this module in the running program: "devel" unless it has one.
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

// registered is what guests call their operator, empty if they do not. Other names of an
// operator, such as those of files, are nobody else's business.
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
