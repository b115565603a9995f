package oci_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/test/registrytest"
)

// An archive carries a module with its signatures to a machine without a registry,
// where it is verified as at home.
func TestAirGap(t *testing.T) {
	for name, how := range map[string]string{"tag": "--bundle=false", "bundle": "--bundle=true"} {
		for kind, referrers := range map[string]bool{"with referrers": true, "without referrers": false} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				home, away := newBench(t), newBench(t)
				r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
				ref := "oci://" + r.Host + "/operator:v1"
				home.key("mine", "ECDSA")
				home.key("other", "ECDSA")
				pushed := home.must("push", home.module(), ref, "--attach", home.file("sbom.json", `{"spdxVersion":"SPDX-2.3"}`))
				home.must("sign", ref, "--key", "mine.key", how)
				home.must("save", ref, "-o", "operators.tar")

				away.file("operators.tar", home.read("operators.tar"))
				away.file("mine.pub", home.read("mine.pub"))
				away.file("other.pub", home.read("other.pub"))
				r.Stop()
				if loaded := away.must("load", "operators.tar"); loaded != pushed {
					t.Errorf("loaded %q, want %q", loaded, pushed)
				}
				const cluster = "no configuration of a cluster" // it came as far as the cluster
				away.refused(1, []string{cluster}, "run", ref, "--pull", "never", "-n", "default", "-k", "mine.pub")
				away.refused(3, []string{pushed}, "run", ref, "--pull", "never", "-n", "default", "-k", "other.pub")
				away.refused(1, []string{ref, "unavailable"}, "run", ref, "-n", "default")
				if shown := away.must("inspect", ref, "--pull", "never"); !strings.Contains(shown, "application/spdx+json") || !strings.Contains(shown, "create_fn") {
					t.Errorf("inspect:\n%s", shown)
				}
				if listed := away.must("ls"); strings.Count(listed, "oci://") != 1 {
					t.Errorf("kopf ls:\n%s", listed)
				}
				away.must("rm", ref)
				away.refused(1, []string{ref, "not in the store"}, "run", ref, "--pull", "never", "-n", "default")
			})
		}
	}
}

// SBOMs and provenance refer to the artifact, and inspect shows them.
func TestAttached(t *testing.T) {
	for _, referrers := range []bool{true, false} {
		b := newBench(t)
		r := registrytest.Start(t, registrytest.Options{Referrers: referrers})
		ref := "oci://" + r.Host + "/operator:v1"
		b.must("push", b.module(), ref,
			"--attach", b.file("spdx.json", `{"spdxVersion":"SPDX-2.3"}`),
			"--attach", b.file("cyclonedx.json", `{"bomFormat":"CycloneDX"}`),
			"--attach", b.file("provenance.json", `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1"}`))
		shown := b.must("inspect", ref)
		for _, want := range []string{"application/spdx+json sha256:", "application/vnd.cyclonedx+json sha256:", "application/vnd.in-toto+json sha256:"} {
			if !strings.Contains(shown, want) {
				t.Errorf("referrers %v: inspect does not tell %s:\n%s", referrers, want, shown)
			}
		}
		b.refused(1, []string{"text.json", "neither an SBOM"}, "push", b.module(), ref, "--attach", b.file("text.json", `{}`))
	}
}
