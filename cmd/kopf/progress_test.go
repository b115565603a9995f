package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	if progress(writer) != nil || progress(&bytes.Buffer{}) != nil {
		t.Error("progress is drawn, although the output is not a terminal")
	}
	var drawn bytes.Buffer
	draw := bar(&drawn)
	draw(0, 4_000_000)
	draw(1, 4_000_000) // too early to be drawn
	draw(4_000_000, 4_000_000)
	want := "\r[" + strings.Repeat(" ", 30) + "] 0.0 of 4.0 MB\r[" + strings.Repeat("=", 30) + "] 4.0 of 4.0 MB\n"
	if drawn.String() != want {
		t.Errorf("drawn %q, want %q", drawn.String(), want)
	}
	bar(&drawn)(0, 0) // an empty one does not divide by zero
}
