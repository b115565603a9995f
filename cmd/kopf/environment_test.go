package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// Flags that are not on the command line come from the environment, also by the names and spellings of Kopf.
func TestFlagsFromTheEnvironment(t *testing.T) {
	for _, tt := range []struct {
		variable, value, line string
		flag                  string
		want                  []string
	}{
		{"KOPF_RUN_NAMESPACE", "a b", "", "namespace", []string{"a b"}},
		{"KOPF_RUN_NAMESPACES", "a  b-*", "", "namespace", []string{"a", "b-*"}},
		{"KOPF_RUN_NAMESPACES", "a b", "-n=c", "namespace", []string{"c"}},
		{"KOPF_RUN_CLUSTERWIDE", "1", "", "all-namespaces", []string{"true"}},
		{"KOPF_RUN_ALL_NAMESPACES", "yes", "", "all-namespaces", []string{"true"}},
		{"KOPF_RUN_STANDALONE", "Off", "", "standalone", []string{"false"}},
		{"KOPF_RUN_LIVENESS_ENDPOINT", "http://:8080/", "", "liveness", []string{"http://:8080/"}},
		{"KOPF_RUN_MODULES", "one two.three", "", "module", []string{"one", "two.three"}},
		{"KOPF_RUN_LOG_PREFIX", "no", "", "no-log-prefix", []string{"true"}},
		{"KOPF_RUN_LOG_PREFIX", "on", "", "log-prefix", []string{"true"}},
		{"KOPF_RUN_PRIORITY", "5", "", "priority", []string{"5"}},
	} {
		t.Run(tt.variable+"="+tt.value+" "+tt.line, func(t *testing.T) {
			t.Setenv(tt.variable, tt.value)
			cmd := newRunCmd(io.Discard, io.Discard)
			if err := cmd.ParseFlags([]string{tt.line}[:min(len(tt.line), 1)]); err != nil {
				t.Fatal(err)
			}
			if err := fromEnvironment(cmd); err != nil {
				t.Fatal(err)
			}
			got := []string{cmd.Flags().Lookup(tt.flag).Value.String()}
			if values, err := cmd.Flags().GetStringArray(tt.flag); err == nil {
				got = values
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("--%s is %q, want %q", tt.flag, got, tt.want)
			}
		})
	}
}

// A mistyped variable has no effect, such as a demand for signatures. Kubernetes sets those of services.
func TestMistypedVariablesAreNamed(t *testing.T) {
	for name, want := range map[string]string{
		"KOPF_RUN_NAMSPACE":           "Warning: the variable KOPF_RUN_NAMSPACE has no effect: did you mean KOPF_RUN_NAMESPACE?\n",
		"KOPF_RUN_VERIFICATION_KEYS":  "Warning: the variable KOPF_RUN_VERIFICATION_KEYS has no effect: did you mean KOPF_RUN_VERIFICATION_KEY?\n",
		"KOPF_RUN_CLUSTER_WIDE":       "Warning: the variable KOPF_RUN_CLUSTER_WIDE has no effect: did you mean KOPF_RUN_CLUSTERWIDE?\n",
		"KOPF_RUN_PORT":               "",
		"KOPF_RUN_SERVICE_HOST":       "",
		"KOPF_RUN_SERVICE_PORT":       "",
		"KOPF_RUN_PORT_443_TCP_PROTO": "",
		"KOPF_RUN_PATHS":              "",
		"KOPF_SERVE_NAMSPACE":         "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "x")
			cmd, stderr := newRunCmd(io.Discard, io.Discard), &strings.Builder{}
			cmd.SetErr(stderr)
			if err := fromEnvironment(cmd); err != nil || stderr.String() != want {
				t.Errorf("%v, %q", err, stderr)
			}
		})
	}
}

// A value that is none of the flag is an error with the name of the variable.
func TestWrongValuesInTheEnvironment(t *testing.T) {
	t.Setenv("KOPF_RUN_STANDALONE", "maybe")
	err := fromEnvironment(newRunCmd(io.Discard, io.Discard))
	if err == nil || err.Error() != `KOPF_RUN_STANDALONE="maybe": invalid argument "maybe" for "--standalone" flag: strconv.ParseBool: parsing "maybe": invalid syntax` {
		t.Error(err)
	}
}

// An empty variable is as none, unless it would demand a signature: then nothing would be verified.
func TestEmptyVariablesDemandNoSignature(t *testing.T) {
	for name, good := range map[string]bool{"KOPF_RUN_PEERING": true, "KOPF_RUN_VERIFY": true, "KOPF_RUN_GITHUB_OWNER": false, "KOPF_RUN_VERIFICATION_KEY": false, "KOPF_RUN_CERT_SUBJECT": false, "KOPF_RUN_SIGSTORE_TRUST_CONFIG": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "")
			if err := fromEnvironment(newRunCmd(io.Discard, io.Discard)); (err == nil) != good {
				t.Error(err)
			}
		})
	}
}
