package observation

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

func TestSteady(t *testing.T) {
	resource := func(group, plural string, verbs ...string) selectors.Resource {
		return selectors.Resource{Group: group, Version: "v1", Plural: plural, Verbs: verbs}
	}
	all, reading := []string{"create", "list", "patch", "watch"}, []string{"list", "watch"}
	broken := &discovery.Incomplete{Groups: map[schema.GroupVersion]error{{Group: "g", Version: "v1"}: errors.New("503")}}
	tests := []struct {
		name          string
		before, found []selectors.Resource
		partial       error
		want          string
	}{
		{"nothing known", nil, []selectors.Resource{resource("g", "as", all...)}, nil, "as.v1.g:create,list,patch,watch"},
		{"gone", []selectors.Resource{resource("g", "as", all...)}, nil, nil, ""},
		{"its definition is being deleted", []selectors.Resource{resource("g", "as", all...)}, []selectors.Resource{resource("g", "as", reading...)}, nil, "as.v1.g:create,list,patch,watch"},
		{"never patchable", []selectors.Resource{resource("g", "as", reading...)}, []selectors.Resource{resource("g", "as", reading...)}, nil, "as.v1.g:list,watch"},
		{"not watchable any more", []selectors.Resource{resource("g", "as", all...)}, []selectors.Resource{resource("g", "as", "list")}, nil, "as.v1.g:list"},
		{"not patchable, but not being deleted", []selectors.Resource{resource("g", "as", all...)}, []selectors.Resource{resource("g", "as", "create", "watch")}, nil, "as.v1.g:create,watch"},
		{"the group cannot be asked", []selectors.Resource{resource("g", "as", all...), resource("h", "bs", all...)}, []selectors.Resource{resource("i", "cs", all...)}, broken, "cs.v1.i:create,list,patch,watch as.v1.g:create,list,patch,watch"},
		{"another error", []selectors.Resource{resource("g", "as", all...)}, nil, errors.New("boo"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range steady(tt.before, tt.found, tt.partial) {
				got = append(got, r.String()+":"+strings.Join(r.Verbs, ","))
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}
