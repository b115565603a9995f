package declaration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// The worst declarations that were found take memory in proportion to their size.
func TestWorstDeclarations(t *testing.T) {
	repeated := func(head, part, tail string) string {
		return head + strings.TrimSuffix(strings.Repeat(part, 8<<20/len(part)-100), ",") + tail
	}
	for name, text := range map[string]string{
		"empty handlers": repeated(`{"version":1,"registration":{"handlers":[`, `{},`, `]}}`),
		"null handlers":  repeated(`{"version":1,"registration":{"handlers":[`, `null,`, `]}}`),
		"imports":        repeated(`{"version":1,"imports":[`, `"",`, `],"registration":{}}`),
		"annotations":    repeated(`{"version":1,"annotations":{`, `"":"",`, `},"registration":{}}`),
		"unknown values": repeated(`{"version":1,"registration":{"x":[`, `[],`, `]}}`),
		"nesting":        repeated(`{"version":1,"registration":`, `[`, ``),
		"a large one":    repeated(`{"version":1,"registration":{"sdk":"`, `xxxxxxxx`, `"}}`) + strings.Repeat(" ", 8<<20),
	} {
		wasm := sections.Append(module(), declaration.Section, []byte(text))
		boundedtest.Parse(t, name, wasm, func(wasm []byte) error {
			d, err := declaration.Read(wasm)
			if err == nil && d != nil {
				err = d.Check(d.Imports, d.Registration)
			}
			return err
		})
	}
}

// TestWorstComparisons: comparing what a module wants with what it declares, or with the version before, ends soon. As many rules of
// requests as are compared at all cost most: each of them was encoded again for each other one.
func TestWorstComparisons(t *testing.T) {
	rules := func(n, names int, verb string) *abi.Registration {
		c := &abi.Capabilities{}
		for i := range n {
			rule := abi.KubernetesRule{Verbs: []string{verb}}
			for j := range names {
				rule.Resources = append(rule.Resources, fmt.Sprintf("r%d-%d", i, j))
			}
			c.Kubernetes = append(c.Kubernetes, rule)
		}
		return &abi.Registration{Capabilities: c}
	}
	hosts := func(prefix string) *abi.Registration {
		c := &abi.Capabilities{}
		for i := range 190_000 {
			c.HTTP, c.Config = append(c.HTTP, fmt.Sprint(prefix, i)), append(c.Config, fmt.Sprint(prefix, i))
		}
		return &abi.Registration{Capabilities: c}
	}
	handlers := func(n int, labels int, value string) *abi.Registration {
		r := &abi.Registration{}
		for i := range n {
			h := abi.Handler{Kind: abi.KindCreate, ID: fmt.Sprint(i), Labels: map[string]abi.Raw{}}
			for j := range labels {
				h.Labels[fmt.Sprintf("%d-%d", i, j)] = abi.Raw(value)
			}
			r.Handlers = append(r.Handlers, h)
		}
		return r
	}
	for _, tt := range []struct {
		name        string
		than, wants *abi.Registration
	}{
		{"1,000 rules", rules(1000, 1, "get"), rules(1000, 1, "list")},
		{"1,000 rules of 180 names", rules(1000, 180, "get"), rules(1000, 180, "list")},
		{"1,001 rules", rules(1001, 1, "get"), rules(1001, 1, "list")},
		{"hosts", hosts("a"), hosts("b")},
		{"handlers", handlers(10_000, 1, `"a"`), handlers(10_000, 1, `"b"`)},
		{"handlers of many labels", handlers(1000, 150, `"a"`), handlers(1000, 150, `"b"`)},
	} {
		text, err := json.Marshal([]*abi.Registration{tt.than, tt.wants})
		if err != nil {
			t.Fatal(err)
		}
		boundedtest.Parse(t, tt.name, text, func([]byte) error {
			more := declaration.More(tt.than, tt.wants)
			if len(more) == 0 {
				t.Errorf("%s: nothing more", tt.name)
			}
			return errors.New(strings.Join(more, "; "))
		})
	}
}
