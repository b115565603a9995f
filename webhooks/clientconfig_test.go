package webhooks

import "testing"

func TestNamesThatTheAPIServerAccepts(t *testing.T) {
	for id, want := range map[string]string{
		"check_size":       "check-size.example.com",
		"checkSize":        "check-size.example.com",
		"CheckHTTP2Port":   "check-http2-port.example.com",
		"_private":         "private.example.com",
		"Class.method/é_":  "class.method.c3a9.example.com",
		"cls.<locals>.fn_": "cls.3clocals3e.fn.example.com",
		"/a//b/":           "a.b.example.com",
	} {
		if got := Name(lowered(id), "example.com"); got != want {
			t.Errorf("%q becomes %q instead of %q", id, got, want)
		}
	}
}
