package docs

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// recording is the picture that `make recording` makes.
const recording = "docs/images/recording.svg"

// TestRecordingIsThatOfTheDemo: the picture shows the output that README.md shows, as text.
func TestRecordingIsThatOfTheDemo(t *testing.T) {
	var shown strings.Builder
	inText := false
	tokens(t, func(token xml.Token) {
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				shown.WriteString(string(token) + "\n")
			}
		}
	})
	picture := "\n" + normal(shown.String()) + "\n"
	found := false
	for _, b := range (page{text: read(t, "README.md")}).blocks() {
		if !strings.HasPrefix(b.text, "--- kopf run") {
			continue
		}
		found = true
		for line := range strings.Lines(normal(b.text)) {
			if line = strings.TrimRight(line, "\n"); line != "" && !strings.Contains(picture, "\n"+line+"\n") {
				t.Errorf("the recording does not show %q: run 'make recording'", line)
			}
		}
	}
	if !found {
		t.Error("README.md does not show the output of the demo")
	}
	for _, path := range []string{"README.md", "docs/README.md"} {
		if !strings.Contains(read(t, path), strings.TrimPrefix(recording, strings.TrimSuffix(path, "README.md"))) {
			t.Errorf("%s does not show the recording", path)
		}
	}
}

// TestRecordingIsSmallAndStandsAlone: it has no scripts and loads nothing, and it has colours for light and dark, a
// still picture for readers who want no motion, and a description.
func TestRecordingIsSmallAndStandsAlone(t *testing.T) {
	text := read(t, recording)
	if len(text) > 100_000 {
		t.Errorf("it has %d bytes", len(text))
	}
	for _, want := range []string{"prefers-color-scheme: dark", "prefers-reduced-motion: reduce", "<title ", "<desc "} {
		if !strings.Contains(text, want) {
			t.Errorf("it has no %q", want)
		}
	}
	if strings.Contains(text, "url(") || strings.Contains(text, "@import") {
		t.Error("its style loads files")
	}
	tokens(t, func(token xml.Token) {
		start, ok := token.(xml.StartElement)
		if !ok {
			return
		}
		if name := start.Name.Local; name == "script" || name == "image" || name == "foreignObject" {
			t.Errorf("it has the element %s", name)
		}
		for _, a := range start.Attr {
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("it has the attribute %s=%q", a.Name.Local, a.Value)
			}
		}
	})
}

// tokens calls a function for each token of the recording.
func tokens(t *testing.T, each func(token xml.Token)) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(read(t, recording)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		each(token)
	}
}
