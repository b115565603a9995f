// Package programs builds the program kopf for the platforms of a release, from packed Go modules. So a release has the
// bytes that `go install` gives to a user with the same version of Go.
package programs

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/kopf-wasm/kopf/scripts/release/gomodules"
	"github.com/kopf-wasm/kopf/scripts/release/licences"
	"github.com/kopf-wasm/kopf/scripts/release/version"
)

// Platform is an operating system and an architecture, in Go's words.
type Platform struct{ OS, Architecture string }

// String returns the platform as in linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Platforms are those of releases.
var Platforms = []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// Flags are the flags of `go install`: without paths of this machine, and without debugging information, which is a
// quarter of the program. The table of symbols stays, because govulncheck reads it.
var Flags = []string{"-trimpath", "-ldflags=-w"}

// Builder builds programs of one version.
type Builder struct {
	Version    version.Version
	Repository string // its go.sum files decide about modules of others
	Proxy      string // the folder with the packed modules
	Work       string // a folder for modules of others, which may be kept
}

// Built is a program.
type Built struct {
	Path string
	Info *debug.BuildInfo // its modules
}

// Prepare brings the modules of others to this machine, and removes what an earlier run has kept of the modules of the
// release. It is to be called once before Build.
func (b *Builder) Prepare(ctx context.Context) error {
	for _, folder := range []string{"", "cache/download"} {
		if err := os.RemoveAll(filepath.Join(b.modules(), folder, filepath.Dir(gomodules.Root))); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(b.Work, 0o755); err != nil {
		return err
	}
	_, err := command(ctx, filepath.Join(b.Repository, "cmd/kopf"), []string{"GOWORK=off"}, "mod", "download") // checks go.sum
	return err
}

// Build builds the program for a platform.
//
// Errors: a module of the program has another checksum than in go.sum of cmd/kopf, or the compiler fails.
func (b *Builder) Build(ctx context.Context, p Platform) (*Built, error) {
	environment, err := b.environment(ctx, p)
	if err != nil {
		return nil, err
	}
	name := gomodules.Path("cmd/kopf") + "@" + b.Version.Tag()
	if _, err := command(ctx, b.Work, environment, append(append([]string{"install"}, Flags...), name)...); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	path := filepath.Join(b.Work, "gopath", "bin", "kopf")
	if p != (Platform{runtime.GOOS, runtime.GOARCH}) {
		path = filepath.Join(b.Work, "gopath", "bin", p.OS+"_"+p.Architecture, "kopf")
	}
	if p.OS == "windows" {
		path += ".exe"
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &Built{path, info}, b.checkSums(info)
}

// Linked lists the packages of others that a program for a platform links, from a copy of the repository that
// gomodules.Prepare has prepared.
func (b *Builder) Linked(ctx context.Context, source string, p Platform) ([]licences.Package, error) {
	environment, err := b.environment(ctx, p)
	if err != nil {
		return nil, err
	}
	const form = `{{if .Module}}{{.Dir}}|{{.Module.Path}}|{{.Module.Version}}|{{.Module.Dir}}{{end}}`
	out, err := command(ctx, filepath.Join(source, "cmd/kopf"), environment, "list", "-deps", "-f", form, ".")
	if err != nil {
		return nil, err
	}
	var all []licences.Package
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) == 4 && fields[1] != gomodules.Root && !strings.HasPrefix(fields[1], gomodules.Root+"/") {
			all = append(all, licences.Package{Folder: fields[0], Module: fields[1], Version: fields[2], ModuleAt: fields[3]})
		}
	}
	return all, nil
}

// Toolchain returns the folder of the installation of Go that builds.
func (b *Builder) Toolchain(ctx context.Context) (string, error) {
	root, err := command(ctx, b.Work, nil, "env", "GOROOT")
	return strings.TrimSpace(root), err
}

func (b *Builder) modules() string { return filepath.Join(b.Work, "modules") }

// environment is that of the go command: modules come from the release and from the cache of this machine, so that
// nothing is fetched.
func (b *Builder) environment(ctx context.Context, p Platform) ([]string, error) {
	cache, err := command(ctx, b.Work, nil, "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	proxies := "file://" + filepath.ToSlash(b.Proxy) + ",file://" + filepath.ToSlash(filepath.Join(strings.TrimSpace(cache), "cache", "download"))
	return []string{
		"GOOS=" + p.OS, "GOARCH=" + p.Architecture, "CGO_ENABLED=0", "GOWORK=off", "GOENV=off", "GOTOOLCHAIN=local", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-modcacherw", "GOBIN=", "GOPATH=" + filepath.Join(b.Work, "gopath"), "GOMODCACHE=" + b.modules(),
		"GODEBUG=goindex=0",                                   // the index of a module is kept by its folder, and would be that of an earlier release
		"GOPROXY=" + proxies, "GONOPROXY=none", "GOSUMDB=off", // checkSums compares with go.sum
	}, nil
}

// checkSums compares the modules of a program with go.sum, because `go install` of a version does not.
func (b *Builder) checkSums(info *debug.BuildInfo) error {
	text, err := os.ReadFile(filepath.Join(b.Repository, "cmd/kopf/go.sum"))
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		known[strings.TrimSpace(line)] = true
	}
	for _, m := range info.Deps {
		if m.Path != gomodules.Root && !strings.HasPrefix(m.Path, gomodules.Root+"/") && !known[m.Path+" "+m.Version+" "+m.Sum] {
			return fmt.Errorf("%s %s has the checksum %s, which is not in cmd/kopf/go.sum", m.Path, m.Version, m.Sum)
		}
	}
	return nil
}

// command runs the go command in a folder.
func command(ctx context.Context, folder string, environment []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.Env = folder, &stderr, append(os.Environ(), environment...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
