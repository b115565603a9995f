package selectors

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

func args(texts ...string) []abi.Raw {
	list := make([]abi.Raw, len(texts))
	for i, text := range texts {
		if list[i] = abi.Raw(`"` + text + `"`); text == "EVERYTHING" {
			list[i] = abi.Raw(abi.Everything)
		}
	}
	return list
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec abi.Selector
		want string
	}{
		{"a name", abi.Selector{Args: args("kex")}, "Selector(any_name='kex')"},
		{"a name with a group", abi.Selector{Args: args("kex.kopf.dev")}, "Selector(group='kopf.dev', any_name='kex')"},
		{"a name with a version and a group", abi.Selector{Args: args("kex.v1beta1.kopf.dev")}, "Selector(group='kopf.dev', version='v1beta1', any_name='kex')"},
		{"a name with a version", abi.Selector{Args: args("pods.v1")}, "Selector(version='v1', any_name='pods')"},
		{"a name with a version of the core API", abi.Selector{Args: args("pods.v1.")}, "Selector(group='', version='v1', any_name='pods')"},
		{"an unusual version is a group", abi.Selector{Args: args("kex.v1gamma1.dev")}, "Selector(group='v1gamma1.dev', any_name='kex')"},
		{"a group and a name", abi.Selector{Args: args("kopf.dev", "kex")}, "Selector(group='kopf.dev', any_name='kex')"},
		{"a group with a version, and a name", abi.Selector{Args: args("kopf.dev/v1", "kex")}, "Selector(group='kopf.dev', version='v1', any_name='kex')"},
		{"the core API by its version", abi.Selector{Args: args("v1", "pods")}, "Selector(group='', version='v1', any_name='pods')"},
		{"the core API by its empty group", abi.Selector{Args: args("", "v1", "pods")}, "Selector(group='', version='v1', any_name='pods')"},
		{"the core API in any version", abi.Selector{Args: args("", "pods")}, "Selector(group='', any_name='pods')"},
		{"names are not split after a group", abi.Selector{Args: args("kopf.dev", "v1", "a.b")}, "Selector(group='kopf.dev', version='v1', any_name='a.b')"},
		{"everything", abi.Selector{Args: args("EVERYTHING")}, "Selector(any_name=EVERYTHING)"},
		{"everything of a group", abi.Selector{Args: args("kopf.dev/v1", "EVERYTHING")}, "Selector(group='kopf.dev', version='v1', any_name=EVERYTHING)"},
		{"parts", abi.Selector{Group: new("g"), Version: "v1", Kind: "K"}, "Selector(group='g', version='v1', kind='K')"},
		{"a category", abi.Selector{Category: "all"}, "Selector(category='all')"},
		{"a category of the core API", abi.Selector{Group: new(""), Category: "all"}, "Selector(group='', category='all')"},
		{"parts in addition to a name", abi.Selector{Args: args("kex"), Group: new("kopf.dev")}, "Selector(group='kopf.dev', any_name='kex')"},
		{"the same group twice", abi.Selector{Args: args("kopf.dev", "kex"), Group: new("kopf.dev")}, "Selector(group='kopf.dev', any_name='kex')"},
		{"a function", abi.Selector{Function: true}, "Selector(fn=FUNCTION)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec abi.Selector
		want string // in the message
	}{
		{"nothing", abi.Selector{}, "no name"},
		{"a group only", abi.Selector{Group: new("kopf.dev")}, "no name"},
		{"an empty name", abi.Selector{Args: args("")}, "the name is empty"},
		{"an empty name before a group", abi.Selector{Args: args(".v1.kopf.dev")}, "the name is empty"},
		{"four arguments", abi.Selector{Args: args("a", "b", "c", "d")}, "4 positional arguments"},
		{"two names", abi.Selector{Kind: "K", Plural: "ks"}, `kind="K", plural="ks"`},
		{"a name and a part", abi.Selector{Args: args("kex"), Kind: "K"}, `any_name="kex", kind="K"`},
		{"a function and a name", abi.Selector{Args: args("kex"), Function: true}, `any_name="kex", fn`},
		{"everything and a part", abi.Selector{Args: args("EVERYTHING"), Kind: "K"}, `everything, kind="K"`},
		{"everything first", abi.Selector{Args: args("EVERYTHING", "kex")}, "argument 1: EVERYTHING"},
		{"a group and a version without a name", abi.Selector{Args: args("kopf.dev/v1")}, "argument 1: \"kopf.dev/v1\" has a slash"},
		{"a subresource", abi.Selector{Args: args("v1", "pods/status")}, "argument 2: \"pods/status\" has a slash"},
		{"a group and a version before a version", abi.Selector{Args: args("kopf.dev/v1", "v1", "kex")}, "argument 1"},
		{"a slash without a version", abi.Selector{Args: args("kopf.dev/", "kex")}, "argument 1: \"kopf.dev/\" is not of the form"},
		{"two slashes", abi.Selector{Args: args("a/b/c", "kex")}, "argument 1: \"a/b/c\" is not of the form"},
		{"an empty version", abi.Selector{Args: args("kopf.dev", "", "kex")}, "argument 2: the version is empty"},
		{"two groups", abi.Selector{Args: args("kopf.dev", "kex"), Group: new("other.dev")}, `group: "other.dev" contradicts "kopf.dev"`},
		{"a group and the core API", abi.Selector{Args: args("", "v1", "pods"), Group: new("other.dev")}, `group: "other.dev" contradicts ""`},
		{"two versions", abi.Selector{Args: args("kex.v1.kopf.dev"), Version: "v2"}, `version: "v2" contradicts "v1"`},
		{"a number", abi.Selector{Args: []abi.Raw{abi.Raw("1")}}, "argument 1: 1 is neither"},
		{"null", abi.Selector{Args: []abi.Raw{abi.Raw("null")}}, "argument 1: null is neither"},
		{"another marker", abi.Selector{Args: []abi.Raw{abi.Raw(abi.Present)}}, "argument 1"},
		{"not even JSON", abi.Selector{Args: []abi.Raw{abi.Raw("{")}}, "argument 1: { is neither"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.spec)
			if !errors.Is(err, ErrImpossible) {
				t.Fatalf("got %v and error %v, want ErrImpossible", got, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q in it", err, tt.want)
			}
			if got != (Selector{}) {
				t.Errorf("got %s in addition to the error", got)
			}
		})
	}
}
