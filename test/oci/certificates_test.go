package oci_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// The signers of the tests.
var (
	actions  = "https://token.actions.githubusercontent.com"
	byMail   = wish{Issuer: "https://accounts.example.com", Subject: "me@example.com", Annotations: map[string]string{"env": "prod"}}
	byAction = wish{Issuer: actions, Subject: "https://github.com/me/op/.github/workflows/release.yml@refs/tags/v1", Repository: "me/op"}
	atBranch = wish{Issuer: actions, Subject: "https://github.com/me/op/.github/workflows/other.yml@refs/heads/main", Repository: "me/op"}
	borrowed = wish{Issuer: actions, Subject: byAction.Subject, Repository: "evil/fork"} // a workflow that can be reused
)

// asTag is the same signature under cosign's tag.
func (w wish) asTag() wish {
	w.Tagged = true
	return w
}

// Signatures with certificates, as bundles and under cosign's tag, in registries with
// and without referrers: the right ones suffice, and each wrong one is refused.
func TestCertificates(t *testing.T) {
	mail := []string{"--cert-subject", "me@example.com", "--cert-oidc-issuer", "https://accounts.example.com"}
	expired, unlogged, elsewhere := byMail, byMail, byMail
	expired.Expired, unlogged.Unlogged, elsewhere.Digest = true, true, "sha256:"+strings.Repeat("0a", 32)
	tamper := func(s *forged) {
		s.Payload = bytes.Replace(s.Payload, []byte("prod"), []byte("test"), 1)
		if s.Bundle != nil { // the end of {"env":"prod"}]}, in Base64, whatever comes before it
			s.Bundle = bytes.Replace(s.Bundle, []byte(`"payload":"eyJ`), []byte(`"payload":"eyA`), 1)
		}
	}
	tests := []struct {
		name   string
		wish   wish
		change func(s *forged)
		args   []string
		words  string // none: it is good
	}{
		{"the subject", byMail, nil, mail, ""},
		{"with an annotation", byMail, nil, append([]string{"--verification-annotation", "env=prod"}, mail...), ""},
		{"with another annotation", byMail, nil, append([]string{"--verification-annotation", "env=test"}, mail...), "with env=test"},
		{"another subject", byMail, nil, []string{"--cert-subject", "you@example.com", "--cert-oidc-issuer", byMail.Issuer}, "no signature by you@example.com of"},
		{"another issuer", byMail, nil, []string{"--cert-subject", byMail.Subject, "--cert-oidc-issuer", "https://example.com"}, "of https://example.com"},
		{"a GitHub action", byAction, nil, []string{"--github-owner", "me", "--github-repo", "op"}, ""},
		{"any GitHub action of the owner", byAction, nil, []string{"--github-owner", "Me"}, ""},
		{"of another owner", byAction, nil, []string{"--github-owner", "m"}, "no signature by GitHub action of m"},
		{"of another repository", byAction, nil, []string{"--github-owner", "me", "--github-repo", "o"}, "no signature by GitHub action of me/o"},
		{"an action that runs for another repository", borrowed, nil, []string{"--github-owner", "me"}, "no signature by GitHub action of me"},
		{"no GitHub action", byMail, nil, []string{"--github-owner", "me"}, "no signature by GitHub action of me"},
		{"an expired certificate", expired, nil, mail, "outside certificate validity"},
		{"a certificate in no log", unlogged, nil, mail, "signed certificate timestamp"},
		{"of another artifact", elsewhere, nil, mail, "artifact"},
		{"tampered with", byMail, tamper, mail, "failed to verify"},
		{"of another Sigstore", byMail, nil, append([]string{"--sigstore-trust-config", "other/trust.json"}, mail...), "failed to verify"},
	}
	other := newBench(t)
	other.forge("")
	for _, referrers := range []bool{true, false} {
		r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
		for _, tt := range tests {
			for how, wanted := range map[string]wish{"bundle": tt.wish, "tag": tt.wish.asTag()} {
				t.Run(tt.name+" "+how+" "+map[bool]string{true: "with referrers", false: "without"}[referrers], func(t *testing.T) {
					b := newBench(t)
					b.file("other/trust.json", other.read("trust.json"))
					pushed := b.must("push", b.module(), "oci://"+r.Host+"/"+strings.ToLower(strings.ReplaceAll(tt.name, " ", "-"))+how+":v1")
					made := b.forge(digestOf(pushed), wanted)
					if tt.change != nil {
						tt.change(&made[0])
					}
					b.attach(pushed, made...)
					args := append([]string{"verify", pushed, "--sigstore-trust-config", "trust.json"}, tt.args...)
					if tt.words != "" {
						b.refused(3, []string{pushed, tt.words}, args...)
						return
					}
					if verified := b.must(args...); verified != pushed {
						t.Errorf("verified %q, want %q", verified, pushed)
					}
				})
			}
		}
	}
}

// Keys and certificates are demanded together, and signers are counted: all actions of a
// repository are one.
func TestMixedSigners(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{Referrers: true})
	pushed := b.must("push", b.module(), "oci://"+r.Host+"/operator:v1")
	b.key("mine", "ECDSA")
	b.key("other", "ECDSA")
	b.must("sign", pushed, "--key", "mine.key", "--bundle")
	b.attach(pushed, b.forge(digestOf(pushed), byMail, byAction, atBranch)...)
	key := func(name string) string {
		return "{kind: pubKey, key: " + strings.ReplaceAll(strings.TrimSpace(`"`+strings.ReplaceAll(b.read(name+".pub"), "\n", `\n`)), "\n", "") + `"}`
	}
	mail := "{kind: genericIssuer, issuer: 'https://accounts.example.com', subject: {equal: me@example.com}, annotations: {env: prod}}"
	prefix := "{kind: genericIssuer, issuer: '" + actions + "', subject: {urlPrefix: 'https://github.com/me/op'}}"
	owner, op := "{kind: githubAction, owner: me}", "{kind: githubAction, owner: me, repo: op}"
	tests := []struct {
		name, config string
		code         int
	}{
		{"all of a key, a subject and an action", "allOf: [" + key("mine") + "," + mail + "," + op + "]", 0},
		{"a key is missing", "allOf: [" + key("other") + "," + mail + "]", 3},
		{"a subject is missing", "allOf: [" + key("mine") + ", {kind: genericIssuer, issuer: 'https://i', subject: {equal: me@example.com}}]", 3},
		{"three of three", "anyOf: {minimumMatches: 3, signatures: [" + mail + "," + op + "," + key("mine") + "]}", 0},
		{"two actions of one repository", "anyOf: {minimumMatches: 2, signatures: [" + owner + "," + op + "]}", 3},
		{"two entries for one repository", "anyOf: {minimumMatches: 2, signatures: [" + prefix + "," + op + "]}", 3},
		{"a prefix", "allOf: [" + prefix + "]", 0},
		{"another prefix", "allOf: [{kind: genericIssuer, issuer: '" + actions + "', subject: {urlPrefix: 'https://github.com/me/o'}}]", 3},
		{"all and any", "allOf: [" + mail + "]\nanyOf: {minimumMatches: 2, signatures: [" + op + "," + key("mine") + "," + key("other") + "]}", 0},
	}
	for _, tt := range tests {
		b.file("verification.yml", "apiVersion: v1\n"+tt.config)
		got := b.kopf("verify", pushed, "--verification-config-path", "verification.yml", "--sigstore-trust-config", "trust.json")
		if got.code != tt.code {
			t.Errorf("%s: exit code %d, want %d\n%s", tt.name, got.code, tt.code, got.stderr)
		}
	}
}

// What runs is what is signed with certificates as demanded, also on a machine without
// a registry; and what is needed to look at them is there, or named.
func TestRunCertified(t *testing.T) {
	b, away := newBench(t), newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/operator:v1"
	pushed := b.must("push", b.module(), ref)
	b.attach(pushed, b.forge(digestOf(pushed), byMail.asTag(), byAction)...)
	const cluster = "no configuration of a cluster" // it came as far as the cluster
	trusting := []string{"--sigstore-trust-config", "trust.json"}
	run := func(args ...string) []string { return append([]string{"run", ref, "-n", "default"}, args...) }
	b.refused(1, []string{cluster}, run(append(trusting, "--github-owner", "me")...)...)
	b.refused(3, []string{pushed, "no signature by GitHub action of you"}, run(append(trusting, "--github-owner", "you")...)...)

	b.must("save", ref, "-o", "operators.tar")
	away.file("operators.tar", b.read("operators.tar"))
	away.file("config/kopf/trusted_root.json", b.read("trust.json"))
	away.file("config/kopf/verification.yml", "apiVersion: v1\nallOf: [{kind: githubAction, owner: me, repo: op}, {kind: genericIssuer, issuer: 'https://accounts.example.com', subject: {equal: me@example.com}}]")
	away.must("load", "operators.tar")
	away.refused(1, []string{cluster}, run("--pull", "never", "--verify")...)
	away.file("config/kopf/verification.yml", "apiVersion: v1\nallOf: [{kind: githubAction, owner: you}]")
	away.refused(3, []string{pushed}, run("--pull", "never", "--verify")...)

	verify := []string{"verify", ref, "--github-owner", "me"}
	b.refused(1, []string{"the trusted root", "missing.json"}, append(verify, "--sigstore-trust-config", "missing.json")...)
	b.refused(1, []string{"the trusted root", "text.json is not JSON"}, append(verify, "--sigstore-trust-config", b.file("text.json", "text"))...)
	b.refused(1, []string{"the trusted root"}, append(verify, "--sigstore-trust-config", b.file("empty.json", "{}"))...)
	b.env = append(b.env, "HTTPS_PROXY=http://127.0.0.1:1")
	b.refused(1, []string{"fetching the trusted root of Sigstore from https://"}, verify...)
	b.refused(2, []string{"belong together"}, "verify", ref, "--cert-subject", "me@example.com")
	b.refused(2, []string{"--github-owner"}, "verify", ref, "--github-repo", "op")
}

// A program that is built without the Sigstore library verifies keys, and says why it refuses
// certificates.
func TestBuiltWithoutSigstore(t *testing.T) {
	b := newBench(t)
	program := filepath.Join(b.home, "small")
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "nosigstore", "-o", program, ".")
	build.Dir = repository + "/cmd/kopf"
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r := registrytest.Start(t, registrytest.Options{})
	ref := "oci://" + r.Host + "/operator:v1"
	pushed := b.must("push", b.module(), ref)
	b.attach(pushed, b.forge(digestOf(pushed), byAction)...)
	b.key("mine", "ECDSA")
	b.must("sign", ref, "--key", "mine.key")
	certified := b.run(program, "verify", ref, "--github-owner", "me", "--sigstore-trust-config", "trust.json")
	if certified.code != 1 || !strings.Contains(certified.stderr, "this program cannot verify certificates: it is built with the tag nosigstore") {
		t.Errorf("exit code %d\n%s", certified.code, certified.stderr)
	}
	if keyed := b.run(program, "verify", ref, "-k", "mine.pub"); keyed.code != 0 {
		t.Errorf("exit code %d\n%s", keyed.code, keyed.stderr)
	}
}
