package signatures

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that fails or answers nonsense verifies nothing, and it is told which one.
func TestBadProgram(t *testing.T) {
	config, err := ParseConfig([]byte("apiVersion: v1\nallOf: [{kind: githubAction, owner: me}]"))
	if err != nil {
		t.Fatal(err)
	}
	found := []Signature{{Where: "here", Payload: []byte("{}"), Certificate: "x"}}
	tests := []struct{ script, words string }{
		{"echo 'cannot\nsee' >&2; exit 1", "kopf-sigstore: cannot\\nsee: exit status 1"},
		{"echo nonsense", "the answer of kopf-sigstore: invalid character"},
		{"echo '[]'", "answers about 0 signatures, not about 1"},
		{`echo '[{"error":"bad"}]'`, "no signature by GitHub action of me (here: bad)"},
		{`echo '[{"issuer":"` + githubIssuer + `","subject":"https://github.com/me/op/x","repository":"https://github.com/me/op"}]'`, "its payload cannot be read"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte("#!/bin/sh\ncat >/dev/null\n"+tt.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		trust := filepath.Join(t.TempDir(), "root.json")
		if err := os.WriteFile(trust, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		signers, err := config.Verify(t.Context(), digest, found, &Sigstore{Program: path, Trust: trust})
		if err == nil || signers != nil && !errors.Is(err, ErrUnverified) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v, error %v, want %q", tt.script, signers, err, tt.words)
		}
	}
}

// Who a certificate is for, by what it says.
func TestIssued(t *testing.T) {
	action := func(issuer, subject, repository string) *issued { return &issued{issuer, subject, repository} }
	const sub, repo = "https://github.com/me/op/.github/workflows/a.yml@refs/heads/main", "https://github.com/me/op"
	tests := []struct {
		name  string
		who   *issued
		owner string
		repo  string
		want  bool
	}{
		{"it is", action(githubIssuer, sub, repo), "me", "op", true},
		{"any repository", action(githubIssuer, sub, repo), "ME", "", true},
		{"the beginning of a name", action(githubIssuer, sub, repo), "me", "o", false},
		{"another issuer", action("https://example.com", sub, repo), "me", "op", false},
		{"no repository", action(githubIssuer, sub, ""), "me", "op", false},
		{"another repository", action(githubIssuer, sub, "https://github.com/you/op"), "me", "", false},
		{"another host", action(githubIssuer, "https://github.com.example.com/me/op/a", repo), "me", "op", false},
		{"a user in the URL", action(githubIssuer, "https://github.com@example.com/me/op/a", repo), "me", "op", false},
		{"no owner", action(githubIssuer, "https://github.com//op", repo), "", "op", false},
	}
	for _, tt := range tests {
		if got := tt.who.byGitHub(tt.owner, tt.repo); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if a, b := action(githubIssuer, sub, repo), action(githubIssuer, sub+"x", repo+"/"); a.identity() != b.identity() {
		t.Errorf("%q, %q: two workflows of a repository are one signer", a.identity(), b.identity())
	}
}
