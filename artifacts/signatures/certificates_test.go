package signatures

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// findings is a verifier of certificates with fixed results.
type findings struct {
	found []Finding
	err   error
}

func (f *findings) VerifyCertificates(context.Context, string, []Signature) ([]Finding, error) {
	return f.found, f.err
}

// A verifier of certificates that fails or returns nonsense verifies nothing.
func TestFailingCertificateVerifier(t *testing.T) {
	config, err := ParseConfig([]byte("apiVersion: v1\nallOf: [{kind: githubAction, owner: me}]"))
	if err != nil {
		t.Fatal(err)
	}
	const workflow, repository = "https://github.com/me/op/x", "https://github.com/me/op"
	found := []Signature{{Where: "here", Payload: []byte("{}"), Certificate: "x"}}
	failure := errors.New("cannot\nread")
	tests := []struct {
		name     string
		verifier CertificateVerifier
		is       error
		words    string
	}{
		{"an error", &findings{err: failure}, failure, "verifying certificates: cannot"},
		{"no result", &findings{}, nil, "0 results for 1 signatures"},
		{"two results", &findings{found: make([]Finding, 2)}, nil, "2 results for 1 signatures"},
		{"a bad signature", &findings{found: []Finding{{Err: failure}}}, ErrUnverified, "no signature by GitHub action of me (here: cannot\\nread)"},
		{"no payload", &findings{found: []Finding{{Issuer: githubIssuer, Subject: workflow, Repository: repository}}}, ErrUnverified, "its payload cannot be read"},
		{"no verifier", nil, ErrNoCertificates, "this program cannot verify certificates"},
	}
	for _, tt := range tests {
		signers, err := config.Verify(t.Context(), digest, found, tt.verifier)
		if err == nil || signers != nil && !errors.Is(err, ErrUnverified) || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v, error %v, want %q", tt.name, signers, err, tt.words)
		}
	}
}

// The identity of a certificate decides for whom it signs.
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
	if action(githubIssuer, sub, repo).to(githubIssuer, &Subject{}) {
		t.Error("an empty subject means any subject")
	}
}
