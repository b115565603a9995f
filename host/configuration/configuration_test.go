package configuration_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/sections"
)

const module = "\x00asm\x01\x00\x00\x00"

func TestEmbedAndRead(t *testing.T) {
	if config, err := configuration.Read([]byte(module)); config != nil || err != nil {
		t.Errorf("%v, %v", config, err)
	}
	once, err := configuration.Embed([]byte(module), map[string]string{"a": "1"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"b": "2\n\x00\"", "c": ""}
	twice, err := configuration.Embed(once, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := configuration.Read(twice)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestReadRefuses(t *testing.T) {
	one := sections.Append([]byte(module), configuration.Section, []byte(`{"a":"1"}`))
	for name, wasm := range map[string][]byte{
		"no module":      []byte("#!/bin/sh"),
		"a cut module":   one[:len(one)-1],
		"two sections":   sections.Append(one, configuration.Section, []byte(`{}`)),
		"nothing":        sections.Append([]byte(module), configuration.Section, nil),
		"no JSON":        sections.Append([]byte(module), configuration.Section, []byte(`{`)),
		"not only texts": sections.Append([]byte(module), configuration.Section, []byte(`{"a":1}`)),
	} {
		if config, err := configuration.Read(wasm); !errors.Is(err, configuration.ErrMalformed) {
			t.Errorf("%s: %v, error %v", name, config, err)
		}
	}
}
