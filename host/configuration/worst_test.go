package configuration_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/sections"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// The worst configurations in modules that were found take memory in proportion to their size.
func TestWorstConfigurations(t *testing.T) {
	for name, text := range map[string]string{
		"equal keys":     `{` + strings.Repeat(`"":"",`, 2<<20) + `"":""}`,
		"a large value":  `{"script.js":"` + strings.Repeat(`\u0000`, 2<<20) + `"}`,
		"nesting":        strings.Repeat(`{"":`, 2<<20),
		"different keys": different(1 << 20),
	} {
		wasm := sections.Append([]byte("\x00asm\x01\x00\x00\x00"), configuration.Section, []byte(text))
		boundedtest.Parse(t, name, wasm, func(wasm []byte) error {
			_, err := configuration.Read(wasm)
			return err
		})
	}
}

// different is an object with so many keys.
func different(keys int) string {
	var b strings.Builder
	b.WriteString(`{`)
	for i := range keys {
		b.WriteString(`"` + string(rune('a'+i%26)) + string(rune(0x4e00+i/26)) + `":"",`)
	}
	return b.String() + `"":""}`
}
