package main

import (
	"bytes"
	"os"
	"testing"
)

func TestSchemaIsCurrent(t *testing.T) {
	want, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../schema/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("schema/v1.json is not what the types say: run `make golden`")
	}
}
