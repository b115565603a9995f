package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name   string
		lines  []string
		want   []string // parts of the output
		not    []string // what must not be there
		strict bool
		last   string
		code   int
	}{
		{
			name: "a parent does not count",
			lines: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA/x"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Test":"TestA/x"}`,
				`{"Action":"output","Package":"p","Output":"PASS\n"}`,
				`{"Action":"pass","Package":"p","Elapsed":1.25}`,
			},
			want: []string{"ok    p (1.2s)"},
			not:  []string{"PASS"},
			last: "1 passed, 0 failed",
		},
		{
			name: "a failed subtest is one failure",
			lines: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA/x"}`,
				`{"Action":"output","Package":"p","Test":"TestA/x","Output":"=== RUN   TestA/x\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA/x","Output":"    a_test.go:1: why\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p","Test":"TestA/x"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			want: []string{"a_test.go:1: why", "FAIL  p TestA/x", "FAIL  p ("},
			not:  []string{"=== RUN", "FAIL  p TestA\n"},
			last: "0 passed, 1 failed",
			code: 1,
		},
		{
			name: "a package that does not build",
			lines: []string{
				`{"ImportPath":"p","Action":"build-output","Output":"a.go:1: syntax error\n"}`,
				`{"ImportPath":"p","Action":"build-fail"}`,
				`{"Action":"output","Package":"p","Output":"FAIL p [build failed]\n"}`,
				`{"Action":"fail","Package":"p","FailedBuild":"p"}`,
			},
			want: []string{"a.go:1: syntax error", "[build failed]"},
			last: "0 passed, 1 failed",
			code: 1,
		},
		{
			name: "a process that dies within a test",
			lines: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"fatal error: boom\n"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			want: []string{"fatal error: boom"},
			last: "0 passed, 1 failed",
			code: 1,
		},
		{
			name: "a skipped test is shown with its reason",
			lines: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: no cluster\n"}`,
				`{"Action":"skip","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p"}`,
			},
			want: []string{"SKIP  p TestA", "no cluster"},
			last: "0 passed, 0 failed",
		},
		{
			name: "a skipped test fails where every test must run",
			lines: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"skip","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p"}`,
			},
			strict: true,
			want:   []string{"SKIP  p TestA", "FAIL  1 skipped tests"},
			last:   "0 passed, 1 failed",
			code:   1,
		},
		{
			name: "a skipped input of a fuzz test is not worth a line",
			lines: []string{
				`{"Action":"run","Package":"p","Test":"FuzzA"}`,
				`{"Action":"run","Package":"p","Test":"FuzzA/seed#0"}`,
				`{"Action":"skip","Package":"p","Test":"FuzzA/seed#0"}`,
				`{"Action":"pass","Package":"p","Test":"FuzzA"}`,
				`{"Action":"pass","Package":"p"}`,
			},
			not:  []string{"SKIP"},
			last: "0 passed, 0 failed",
		},
		{
			name: "long packages show their progress",
			lines: []string{
				`{"Time":"2026-01-01T00:00:00Z","Action":"run","Package":"p","Test":"TestA"}`,
				`{"Time":"2026-01-01T00:00:01Z","Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Time":"2026-01-01T00:00:02Z","Action":"run","Package":"p","Test":"TestB"}`,
				`{"Time":"2026-01-01T00:00:40Z","Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Time":"2026-01-01T00:00:41Z","Action":"pass","Package":"p"}`,
			},
			want: []string{"...   p: 1 tests done, 0 failed"},
			last: "2 passed, 0 failed",
		},
		{
			name:  "nothing was run",
			lines: []string{"go: cannot find main module"},
			want:  []string{"cannot find main module", "no test was started"},
			last:  "0 passed, 1 failed",
			code:  1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			code := run(strings.NewReader(strings.Join(tt.lines, "\n")), &out, tt.strict)
			if code != tt.code {
				t.Errorf("exit status %d, want %d", code, tt.code)
			}
			for _, part := range tt.want {
				if !strings.Contains(out.String(), part) {
					t.Errorf("there is no %q in:\n%s", part, &out)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(out.String(), part) {
					t.Errorf("there is %q in:\n%s", part, &out)
				}
			}
			if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); lines[len(lines)-1] != tt.last {
				t.Errorf("the last line is %q, want %q", lines[len(lines)-1], tt.last)
			}
		})
	}
}
