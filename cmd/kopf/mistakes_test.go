package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMistakes: the error of each common mistake is one line that says what to do.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	for name, content := range map[string]string{
		"main.go": "package main", "two.go": "package a\ntype A string\ntype B string", "lib.rs": "fn main() {}", "native": "\x7fELF\x02", "mac": "\xcf\xfa\xed\xfe", "text.wat": "(module)",
		"empty.wasm": "", "op.js": "x", "op.py": "import kopf", "foreign.wasm": "\x00asm\x01\x00\x00\x00", "one.yaml": "a: b", "two.yaml": "a: b\n---\na: b", "component.wasm": "\x00asm\x0d\x00\x01\x00",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("declared", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("declared/bad.yaml", []byte("spec: {modul: x}"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		line string
		code exitCode
		says string
	}{
		{"run -n x", exitUsage, "name at least one file"},
		{"run x.wasm -n x --record-limit 1Gi", exitUsage, "--record-limit belongs to --record"},
		{"run main.go -n x --limit =", exitUsage, `--limit "=": want NAME=VALUE`},
		{"run main.go -n x --env=", exitError, `--env "": there is no such variable`},
		{"run -n x --module=", exitUsage, `-m "": want the name of a module, like operator.handlers`},
		{"run foreign.wasm -n x -k absent", exitError, "--verification-key: open absent: no such file"},
		{"run main.go -n x", exitError, "main.go: it is source code: build its folder first by kopf build"},
		{"run lib.rs -n x", exitError, "lib.rs: it is source code: build its crate first by kopf build"},
		{"new", exitUsage, "name the new operator: kopf new memberships"},
		{"new Bad_Name", exitUsage, `"Bad_Name": the name is not usable: want lower-case letters`},
		{"new declared", exitUsage, "declared: the folder is not empty: it has bad.yaml"},
		{"new x --lang cobol", exitUsage, `the language "cobol": it is unknown: want one of go, rust`},
		{"new x --template huge", exitUsage, `the template "huge": it is unknown: want one of minimal`},
		{"new x --sdk .", exitUsage, "it is no clone of kopf"},
		{"build declared", exitUsage, "declared: there is no operator: none of go.mod, Cargo.toml"},
		{"build .", exitUsage, "name one of them instead of the folder"},
		{"build missing", exitError, "missing: no such file"},
		{"build op.py -o declared", exitUsage, "--output declared: it is no regular file: name the file of the module"},
		{"build a b", exitUsage, `unexpected argument "b"`},
		{"dev declared", exitUsage, "declared: there is no operator"},
		{"dev --cluster --context x op.js", exitUsage, "either --cluster can be used, or --kubeconfig and --context"},
		{"manifest op.js -A --hosted --peering x", exitUsage, "hosted operators take part in no peering"},
		{"dev a b", exitUsage, `unexpected argument "b"`},
		{"doctor a b", exitUsage, `unexpected argument "b": name one operator`},
		{"doctor missing.wasm", exitUsage, "missing.wasm: no such file"},
		{"doctor -o table", exitUsage, `invalid argument "table" for "-o, --output" flag: want json or yaml`},
		{"doctor -n x -A", exitUsage, "not both"},
		{"run native -n x", exitError, "native: module refused: malformed module: not a WebAssembly file, but a native program"},
		{"run mac -n x", exitError, "but a native program"},
		{"push native oci://localhost:1/x:1", exitError, "but a native program"},
		{"annotate native", exitError, "but a native program"},
		{"run text.wat -n x", exitError, "but WebAssembly as text"},
		{"run empty.wasm -n x", exitError, "it is empty"},
		{"run foreign.wasm -n x", exitError, "it is not a Kopf guest: it does not export kopf_abi_v1"},
		{"run component.wasm -n x", exitError, "a WebAssembly component, not a core module"},
		{"run . -n x", exitError, ".: it is a folder: name a module or a script in it; kopf build makes a module"},
		{"run missing.wasm -n x", exitError, "missing.wasm: no such file or directory: build it by kopf build"},
		{"run ghcr.io/me/op:v1 -n x", exitError, "is it an artifact? oci://ghcr.io/me/op:v1"},
		{"run localhost/op:v1 -n x", exitError, "is it an artifact? oci://localhost/op:v1"},
		{"run oci:/ghcr.io/me/op:v1 -n x", exitError, "is it an artifact? oci://ghcr.io/me/op:v1"},
		{"run some/folder:v1 -n x", exitError, "some/folder:v1: no such file or directory\n"},
		{"run https://example.com/op.wasm -n x", exitError, "only files and artifacts (oci://…) are run"},
		{"inspect oci://localhost:1/me/op:v1 --config a=b", exitUsage, "an artifact is only read: pull it by kopf pull --output FILE, and inspect the file"},
		{"run oci://ghcr.io/me/op -n x", exitUsage, "name a tag or a digest, like oci://ghcr.io/me/operator:v1"},
		{"run oci://ghcr.io/Me/op:v1 -n x", exitUsage, "in lower case"},
		{"run op.js -n x --engine oci://x", exitError, "the engine for op.js: oci://x: invalid reference"},
		{"run foreign.wasm -n x -A", exitUsage, "not both"},
		{"run foreign.wasm -n x --namespace=", exitUsage, "--namespace is empty: name a namespace, or leave the flag out"},
		{"dev op.js --namespace=", exitUsage, "--namespace is empty"},
		{"freeze --peering x --lifetime 1 --namespace=", exitUsage, "--namespace is empty"},
		{"serve --namespace team-*", exitUsage, `--namespace "team-*": want the name of a namespace; patterns are for kopf run`},
		{"serve --namespace=", exitUsage, "--namespace is empty"},
		{"manifest op.js --namespace=", exitUsage, "--namespace is empty"},
		{"doctor --namespace=", exitUsage, "--namespace is empty"},
		{"run foreign.wasm -n x --pull sometimes", exitUsage, "always, missing, or never"},
		{"run foreign.wasm --namspace x", exitUsage, "unknown flag: --namspace: did you mean --namespace?"},
		{"run foreign.wasm --xyz x", exitUsage, "unknown flag: --xyz\n"},
		{"run -m module.absent -n x", exitUsage, "no module named module.absent: neither module/absent.py nor module/absent/__init__.py exists"},
		{"run op.py -n x --engine foreign.wasm --packages absent", exitError, "--packages absent: stat absent: no such file"},
		{"run foreign.wasm -n x --kubeconfig missing", exitError, "--kubeconfig: stat missing: no such file"},
		{"run foreign.wasm -n x --github-repo x", exitUsage, "--github-repo belongs to --github-owner"},
		{"run foreign.wasm -n x --cert-oidc-issuer https://x.example", exitUsage, "--cert-subject and --cert-oidc-issuer belong together"},
		{"run foreign.wasm -n x --verification-annotation env=prod", exitUsage, "--verification-annotation belongs to flags that name signers"},
		{"run foreign.wasm -n x --github-owner=", exitUsage, `invalid argument "" for "--github-owner" flag: it is empty`},
		{"run foreign.wasm -n x --verification-config-path=", exitUsage, `invalid argument "" for "--verification-config-path" flag: it is empty`},
		{"run foreign.wasm -n x --sigstore-trust-config x", exitUsage, "--sigstore-trust-config alone demands no signatures: add --verify"},
		{"run foreign.wasm -n x --sigstore-trust-config=", exitUsage, `invalid argument "" for "--sigstore-trust-config" flag: it is empty`},
		{"serve declared --dry-run --sigstore-trust-config x", exitUsage, "--sigstore-trust-config alone demands no signatures"},
		{"serve declared --dry-run --github-repo x", exitUsage, "--github-repo belongs to --github-owner"},
		{"run foreign.wasm -n x --replicas sharded", exitUsage, `--replicas "sharded": want leader or shared`},
		{"run foreign.wasm -n x --replicas leader --lease-duration 0s", exitUsage, "--lease-duration 0s: want a time, like 15s"},
		{"run foreign.wasm -n x --replicas=", exitUsage, `--replicas "": want leader or shared`},
		{"serve --memory=", exitUsage, `invalid argument "" for "--memory" flag: "" is not a size above zero`},
		{"serve --memory 4GB", exitUsage, `"4GB" is not a size above zero, like 500000, 64Mi or 1Gi`},
		{"serve --replicas=", exitUsage, `--replicas "": want leader or shared`},
		{"run foreign.wasm -n x --record=", exitUsage, "--record is empty: name a file"},
		{"run foreign.wasm -n x --replicas shared --once", exitUsage, "either --replicas or --once can be used"},
		{"run foreign.wasm -n x --replicas shared --peering x", exitUsage, "leave out --peering, --priority and --dev"},
		{"run foreign.wasm -n x --replicas shared --priority 1", exitUsage, "leave out --peering, --priority and --dev"},
		{"run foreign.wasm -n x --replicas shared --dev", exitUsage, "leave out --peering, --priority and --dev"},
		{"manifest foreign.wasm -n x --shared", exitUsage, "add --replicas PODS"},
		{"manifest foreign.wasm -n x --replicas 2 --shared --peering x", exitUsage, "either --shared or --peering can be used"},
		{"run foreign.wasm -n x --replicas leader --once", exitUsage, "either --replicas or --once can be used"},
		{"run foreign.wasm -n x --listen 8080", exitUsage, `--listen "8080": want an address with a port, like 127.0.0.1:8080`},
		{"run foreign.wasm -n x --traces collector:4318", exitUsage, `invalid URL "collector:4318" in --traces: must be like http://collector:4318`},
		{"run foreign.wasm -n x --lease x", exitUsage, "add --replicas leader"},
		{"manifest foreign.wasm -n x --replicas 0", exitUsage, "at least one pod runs"},
		{"manifest foreign.wasm -n x --hosted --env HOME", exitUsage, "--config-file and --env do not go with --image, --hosted and --values"},
		{"manifest foreign.wasm -n x --replicas 2 --hosted", exitUsage, "either --replicas or --hosted can be used"},
		{"run - -n x", exitUsage, "standard input is no connection with one\n"},
		{"serve missing", exitError, "missing: no such file or directory"},
		{"serve main.go", exitError, "main.go is not a directory: to run a module, use kopf run"},
		{"serve a b", exitUsage, `unexpected argument "b": want one directory at most`},
		{"serve --dry-run", exitUsage, "--dry-run checks a directory: name it"},
		{"serve . --install", exitUsage, "--install is about clusters"},
		{"serve . --allow-any-account", exitUsage, "--allow-any-account is about declarations of a cluster"},
		{"serve --install -n x", exitUsage, "--install prints roles for the whole cluster"},
		{"serve --install --watch-roles", exitUsage, "either --install or --watch-roles can be used"},
		{"serve . -n x", exitUsage, "either --namespace can be used, or a directory"},
		{"serve --packages wheels", exitUsage, "--engine and --packages are about scripts of a directory"},
		{"serve . --packages missing", exitError, "--packages: stat missing: no such file or directory"},
		{"serve . --engine oci://ghcr.io/x/y:v1", exitError, "--engine: stat oci://ghcr.io/x/y:v1: no such file or directory"},
		{"serve . --traces collector:4318", exitUsage, `invalid URL "collector:4318" in --traces: must be like http://collector:4318`},
		{"serve --identity magic", exitUsage, `--identity "magic": want token, or impersonate`},
		{"serve declared --replicas shared", exitUsage, "--replicas shared is for declarations of a cluster"},
		{"serve --replicas many", exitUsage, `--replicas "many": want leader or shared`},
		{"serve --lease x", exitUsage, "add --replicas leader"},
		{"serve declared --lease-duration 1m", exitUsage, "add --replicas leader"},
		{"serve declared --replicas leader --dry-run", exitUsage, "leave out --dry-run and --watch-roles"},
		{"serve --replicas leader --watch-roles", exitUsage, "leave out --dry-run and --watch-roles"},
		{"serve --replicas leader --install --lease /x", exitUsage, `replicas: the lease "/x" is neither NAME nor NAMESPACE/NAME`},
		{"serve --replicas leader --install --lease Bad_Name", exitUsage, `replicas: the lease "Bad_Name": a lowercase RFC 1123 subdomain must consist of`},
		{"serve --replicas leader --admission-server server", exitUsage, `give the option "secret" or "certfile" to the admission server`},
		{"serve --limit Memory=1", exitUsage, "--limit: unknown limit Memory"},
		{"serve --allow-setting posting.level", exitUsage, "--allow-setting posting.level cannot be granted"},
		{"serve declared --dry-run --limit MaxMemry=1Mi", exitUsage, "--limit: unknown limit MaxMemry: did you mean MaxMemory?"},
		{"serve declared --dry-run", exitError, "bad.yaml, document 1: unknown field \"spec.modul\""},
		{"explain a/b", exitUsage, "name the module of the operator: --module operator.wasm"},
		{"explain --module op.py", exitUsage, `invalid object ""`},
		{"explain x --module op.py", exitUsage, `invalid object "x": name one as RESOURCE/NAME`},
		{"explain a/b/c --module op.py", exitUsage, `invalid object "a/b/c"`},
		{"explain a/b --module op.py -o xml", exitUsage, `invalid argument "xml" for "-o, --output" flag: want text, json or yaml`},
		{"explain a/b --module op.py --certificate-authority x", exitUsage, "--certificate-authority belongs to --host"},
		{"explain a/b --module foreign.wasm --packages x", exitUsage, "--packages is for scripts in Python, and no module is one"},
		{"run foreign.wasm -n x --packages x", exitUsage, "--packages is for scripts in Python, and no module is one"},
		{"run oci://localhost:1/x:1 -n x --packages x", exitUsage, "--packages is for scripts in Python"},
		{"dev op.js --packages x", exitUsage, "--packages is for scripts in Python"},
		{"build op.js --packages x", exitUsage, "--packages is for scripts in Python"},
		{"inspect op.js --packages x", exitUsage, "--packages is for scripts in Python"},
		{"invoke op.js fn --packages x", exitUsage, "--packages is for scripts in Python"},
		{"manifest op.js -n x --packages x", exitUsage, "--packages is for scripts in Python"},
		{"annotate op.js --packages x", exitUsage, "--packages is for scripts in Python"},
		{"push foreign.wasm oci://localhost:1/x:1 --packages x", exitUsage, "--packages is for scripts in Python"},
		{"explain a/b --module op.py --crd x", exitUsage, "--crd belongs to --filename"},
		{"explain a/b --module op.py -f x", exitUsage, "either an object of the cluster can be named, or --filename"},
		{"explain -n x --module op.py -f x", exitUsage, "either an object of the cluster can be named, or --filename"},
		{"explain -f missing --module op.py", exitError, "open missing: no such file"},
		{"explain -f empty.wasm --module op.py", exitError, "empty.wasm: there is no object in it"},
		{"explain -f text.wat --module op.py", exitError, "text.wat: there is no object in it"},
		{"explain -f two.yaml --module op.py", exitError, "two.yaml: there are several objects in it: name a file with one"},
		{"explain -f one.yaml --crd one.yaml --module op.py", exitError, "one.yaml: there is no CustomResourceDefinition in it"},
		{"explain -f one.yaml --module foreign.wasm", exitError, "it is not a Kopf guest"},
		{"explain -f one.yaml --module foreign.wasm --set a.b=1", exitUsage, "settings: "},
		{"run foreign.wasm -n x -o json", exitUsage, "--output belongs to --dry-run"},
		{"run foreign.wasm -n x --dry-run -o yaml", exitUsage, `invalid argument "yaml" for "-o, --output" flag: want text or json`},
		{"crd", exitUsage, "name the source with the types"},
		{"crd main.go", exitUsage, `--resource "": want PLURAL.VERSION.GROUP, like volumes.v1.example.com`},
		{"crd main.go --resource volumes.example.com", exitUsage, "want PLURAL.VERSION.GROUP"},
		{"crd main.go --resource volumes.v1.example.com -o xml", exitUsage, `invalid argument "xml" for "-o, --output" flag: want yaml or json`},
		{"crd main.go --resource volumes.v1.example.com", exitError, "main.go: there are no types in it"},
		{"crd missing.go --resource volumes.v1.example.com", exitError, "missing.go: no such file"},
		{"crd op.py --resource volumes.v1.example.com", exitError, "op.py: the spec of a handler in Python is a mapping without a type, as in Kopf: write the definition by hand, from crd.yaml of kopf new; types are read from files in Go (.go) and in Rust (.rs)"},
		{"crd two.go --resource volumes.v1.example.com", exitUsage, "two.go: name the type of the spec: --spec TYPE, one of A, B"},
		{"crd two.go --resource volumes.v1.example.com --spec C", exitError, "two.go: there is no type C, but A, B"},
		{"rnu foreign.wasm", exitUsage, `unknown command "rnu": did you mean run`},
		{"help rnu", exitUsage, `unknown command "rnu": did you mean run`},
		{"annotate op.js --engine foreign.wasm", exitUsage, "name the module to be made of it: --output"},
		{"pull x", exitUsage, "like oci://ghcr.io/me/operator:v1"},
	}
	for _, tt := range tests {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(tt.line), &stdout, &stderr); code != tt.code {
			t.Errorf("kopf %s: exit code %d, want %d", tt.line, code, tt.code)
		}
		if !strings.Contains(stderr.String(), tt.says) || strings.Count(stderr.String(), "Error: ") != 1 {
			t.Errorf("kopf %s: want %q in\n%s", tt.line, tt.says, &stderr)
		}
		if stdout.Len() > 0 {
			t.Errorf("kopf %s prints\n%s", tt.line, &stdout)
		}
	}
}

// TestEmptyArguments: some commands took them for the current folder.
func TestEmptyArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"argument 1 is empty": {"run", "", "-n", "x"},
		"argument 2 is empty": {"invoke", "op.js", ""},
		"argument 3 is empty": {"run", "-n", "x", "a.wasm", "b.wasm", ""},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("kopf %q: exit code %d, want %d and %q in\n%s", args, code, exitUsage, want, &stderr)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	var first string
	for _, arg := range []string{"version", "--version"} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{arg}, &stdout, &stderr); code != exitOK || !strings.HasPrefix(stdout.String(), "kopf ") {
			t.Errorf("kopf %s: exit code %d\n%s%s", arg, code, &stdout, &stderr)
		}
		if first == "" {
			first = stdout.String()
		}
		if stdout.String() != first {
			t.Errorf("kopf %s prints\n%s", arg, &stdout)
		}
	}
}
