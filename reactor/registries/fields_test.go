package registries

import (
	"fmt"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// TestOutermostFields: those inside of others are apart, and repeated ones are left out.
func TestOutermostFields(t *testing.T) {
	for _, tt := range []struct {
		fields []dicts.Path
		want   string
	}{
		{nil, "[] []"},
		{[]dicts.Path{{"a"}, {"a"}, {"b"}}, "[a b] []"},
		{[]dicts.Path{{"a", "b", "c"}, {"a", "b"}, {"a", "b", "c"}, {"a", "c"}, {"b", "a"}}, "[a.b a.c b.a] [a.b.c]"},
		{[]dicts.Path{{"ab"}, {"a"}, {"ab", "c"}}, "[ab a] [ab.c]"},
	} {
		outer, inner := outermost(tt.fields)
		if got := fmt.Sprint(outer, " ", inner); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.fields, got, tt.want)
		}
	}
}
