package extism

import "testing"

// TestDocuments: messages of plugins are one object.
func TestDocuments(t *testing.T) {
	tests := []struct {
		text  string
		parts []part
		want  string
	}{
		{`{"a":1}`, []part{{"task", []byte("1")}, {"body", []byte(`{}`)}}, `{"task":1,"body":{},"a":1}`},
		{`{}`, []part{{"task", []byte("1")}, {"old", nil}}, `{"task":1}`},
		{``, []part{{"body", []byte("[]")}}, `{"body":[]}`},
		{` {"a":1} `, nil, `{"a":1}`},
	}
	for _, tt := range tests {
		if got := string(jsonObject([]byte(tt.text), tt.parts)); got != tt.want {
			t.Errorf("%s with %v: %s, want %s", tt.text, tt.parts, got, tt.want)
		}
	}
}
