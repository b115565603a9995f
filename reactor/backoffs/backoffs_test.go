package backoffs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

func TestJSON(t *testing.T) {
	tests := []struct{ name, in, out, fails string }{
		{"a number", `2.5`, `[2.5]`, ""},
		{"a list", `[1, 2]`, `[1,2]`, ""},
		{"nothing", `[]`, `[]`, ""},
		{"all options", `{"list": [1], "repeatLast": true, "jitter": 0.5}`, `{"list":[1],"repeatLast":true,"jitter":0.5}`, ""},
		{"an object without options", `{"list": [3]}`, `[3]`, ""},
		{"null", `null`, "", "null is not a number"},
		{"a text", `"soon"`, "", `"soon" is not a number`},
		{"an object without a list", `{"jitter": 1}`, "", "is not a number"},
		{"an unknown option", `{"list": [1], "repeat": true}`, "", "is not a number"},
		{"negative", `[1, -2]`, "", "-2 is negative"},
		{"negative jitter", `{"list": [], "jitter": -1}`, "", "jitter: -1 is negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b backoffs.Backoffs
			err := json.Unmarshal([]byte(tt.in), &b)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			out, marshalErr := json.Marshal(b)
			if err != nil || marshalErr != nil || string(out) != tt.out {
				t.Errorf("%s becomes %s, %v, %v; want %s", tt.in, out, err, marshalErr, tt.out)
			}
		})
	}
}

func TestPauses(t *testing.T) {
	endless := backoffs.Seconds(1, 2)
	endless.RepeatLast = true
	tests := []struct {
		name     string
		backoffs backoffs.Backoffs
		attempts int
		pauses   []float64 // -1: no more attempts
		sticky   []float64
	}{
		{"none", backoffs.Backoffs{}, 1, []float64{-1, -1}, []float64{0, 0}},
		{"two", backoffs.Seconds(1, 2), 3, []float64{1, 2, -1}, []float64{1, 2, 2}},
		{"endless", endless, 0, []float64{1, 2, 2, 2}, []float64{1, 2, 2, 2}},
		{"endless without any", backoffs.Backoffs{RepeatLast: true}, 1, []float64{-1}, []float64{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n := tt.backoffs.Attempts(); n != tt.attempts {
				t.Errorf("%d attempts, want %d", n, tt.attempts)
			}
			for i, want := range tt.pauses {
				pause, ok := tt.backoffs.Pause(i + 1)
				if ok != (want >= 0) || ok && pause.Seconds() != want {
					t.Errorf("after %d failures: %v, %v, want %v", i+1, pause, ok, want)
				}
				if sticky := tt.backoffs.Sticky(i + 1); i < len(tt.sticky) && sticky.Seconds() != tt.sticky[i] {
					t.Errorf("sticky after %d failures: %v, want %v", i+1, sticky, tt.sticky[i])
				}
			}
		})
	}
}

func TestJitter(t *testing.T) {
	b := backoffs.Seconds(1)
	b.Jitter = time.Second
	different := map[time.Duration]bool{}
	for range 20 {
		pause, _ := b.Pause(1)
		if pause < time.Second || pause >= 2*time.Second {
			t.Fatalf("a pause of %v, want 1 s to 2 s", pause)
		}
		different[pause] = true
	}
	if len(different) < 2 {
		t.Error("all pauses are equal")
	}
}

func TestPausesOfGuestsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		in, out string
		changed bool
	}{
		{`[]`, `[]`, false},
		{`[1, 2.5]`, `[1,2.5]`, false},
		{`{"list": [1], "jitter": 0.5}`, `{"list":[1],"jitter":0.5}`, false},
		{`0`, `[1]`, true},
		{`[0, 0.5, 3]`, `[1,1,3]`, true},
		{`{"list": [0], "repeatLast": true}`, `[1,1,1,1,1,1,1,1,1]`, true},
		{`{"list": [1, 60], "repeatLast": true}`, `[1,60,60,60,60,60,60,60,60]`, true},
		{`{"list": [], "repeatLast": true}`, `[]`, false},
		{`[1,2,3,4,5,6,7,8,9]`, `[1,2,3,4,5,6,7,8,9]`, false},
		{`[1,2,3,4,5,6,7,8,9,10]`, `[1,2,3,4,5,6,7,8,9]`, true},
	} {
		var b backoffs.Backoffs
		if err := json.Unmarshal([]byte(tt.in), &b); err != nil {
			t.Fatal(err)
		}
		bounded, changed := b.ForGuests()
		out, err := json.Marshal(bounded)
		if err != nil || string(out) != tt.out || changed != tt.changed {
			t.Errorf("%s becomes %s, changed %v, %v; want %s, %v", tt.in, out, changed, err, tt.out, tt.changed)
		}
		if n := bounded.Attempts(); n < 1 || n > backoffs.GuestAttempts {
			t.Errorf("%s makes %d attempts", tt.in, n)
		}
	}
}
