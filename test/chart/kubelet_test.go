package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-wasm/kopf/scripts/release/image"
	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/lines"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// account is where pods have the credentials of their service account.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

// kubelet runs the container of a pod as a kubelet does: the file system of the image, read-only, with the volumes of the
// pod, as the user of the pod, without capabilities, and with the credentials of the service account. It shares the
// network of this machine, so the ports of the pod are replaced by free ones.
type kubelet struct {
	cluster *clustertest.ControlPlane
	layout  string            // the image
	tag     string            // of the image in the layout
	volumes map[string]string // folders of this machine by the path in the container; empty ones by default
}

// process is a container.
type process struct {
	cmd    *exec.Cmd
	output *lines.Lines
	exited chan struct{} // closed when the process has ended
	ports  map[string]string
	rootfs string
	cache  string
}

// run starts the container of a pod, which exists in the cluster.
func (k *kubelet) run(t *testing.T, pod *unstructured.Unstructured) *process {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("CI needs root for a root file system of its own")
		}
		t.Skip("SKIPPED: a root file system of its own needs root")
	}
	container := field(t, pod.Object, "spec.containers").([]any)[0].(map[string]any)
	p := &process{output: &lines.Lines{}, exited: make(chan struct{}), ports: map[string]string{}, rootfs: filepath.Join(t.TempDir(), "root"), cache: t.TempDir()}
	config := unpack(t, k.layout, k.tag, p.rootfs)
	mounts := [][2]string{{p.rootfs, p.rootfs}}
	mount := func(source, at string) {
		if err := os.MkdirAll(filepath.Join(p.rootfs, at), 0o755); err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, [2]string{source, filepath.Join(p.rootfs, at)})
	}
	mount(k.credentials(t, pod), account)
	for _, item := range container["volumeMounts"].([]any) {
		at, source := item.(map[string]any)["mountPath"].(string), t.TempDir()
		if at == account {
			continue // the API server has added it
		}
		if at == image.Cache {
			source = p.cache
		}
		if given, ok := k.volumes[at]; ok {
			source = given
		}
		chmod(t, source, 0o777) // as the kubelet does with an emptyDir
		mount(source, at)
	}
	arguments := p.arguments(t, container)
	p.cmd = exec.Command("unshare", slices.Concat([]string{"--mount", "sh", "-euc", script(mounts, p.rootfs), "sh"},
		config.Config.Env, environment(container, pod), k.address(t), confinement(p.rootfs), config.Config.Entrypoint, arguments)...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.exited) }() // ends with the process, which the test kills at the latest
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.exited
		if t.Failed() {
			t.Logf("the output of the pod:\n%s", p.output.String())
		}
	})
	return p
}

// script mounts the volumes, makes the root file system read-only, and runs its arguments: variables, and a command.
func script(mounts [][2]string, rootfs string) string {
	var lines []string
	for _, m := range mounts {
		lines = append(lines, fmt.Sprintf("mount --bind %q %q", m[0], m[1]))
	}
	return strings.Join(append(lines,
		fmt.Sprintf("mkdir -p %q/proc; mount -t proc proc %[1]q/proc", rootfs),
		fmt.Sprintf("mount -o remount,ro,bind %q", rootfs),
		`exec /usr/bin/env -i "$@"`,
	), "\n")
}

// confinement is the command that enters the root file system, as the user of the image and without capabilities. Those
// that it needs itself end with the change of the user.
func confinement(rootfs string) []string {
	user := fmt.Sprint(image.User)
	return []string{
		"/usr/bin/setpriv", "--no-new-privs", "--bounding-set=-all,+sys_chroot,+setuid,+setgid",
		"/usr/sbin/chroot", "--userspec=" + user + ":" + user, "--groups=" + user, rootfs,
	}
}

// arguments are those of the container, with free ports of this machine.
func (p *process) arguments(t *testing.T, container map[string]any) []string {
	t.Helper()
	var all []string
	for _, argument := range container["args"].([]any) {
		all = append(all, argument.(string))
	}
	for _, port := range container["ports"].([]any) {
		number := fmt.Sprint(port.(map[string]any)["containerPort"])
		_, free, _ := net.SplitHostPort(porttest.Unused(t))
		p.ports[port.(map[string]any)["name"].(string)] = free
		for i, argument := range all {
			all[i] = strings.ReplaceAll(argument, "0.0.0.0:"+number, "0.0.0.0:"+free)
		}
	}
	return slices.DeleteFunc(all, func(argument string) bool { return argument == "--listen=127.0.0.1:8080" }) // without a free port
}

// environment are the variables of the container.
func environment(container map[string]any, pod *unstructured.Unstructured) []string {
	var all []string
	for _, item := range container["env"].([]any) {
		variable := item.(map[string]any)
		value, ok := variable["value"].(string)
		if !ok {
			value = pod.GetName() // the only field that pods refer to
		}
		all = append(all, variable["name"].(string)+"="+value)
	}
	return all
}

// address are the variables that tell a pod where the API server is.
func (k *kubelet) address(t *testing.T) []string {
	t.Helper()
	server, err := url.Parse(k.cluster.RESTConfig().Host)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
}

// credentials writes the files that a projected volume has.
func (k *kubelet) credentials(t *testing.T, pod *unstructured.Unstructured) string {
	t.Helper()
	name := field(t, pod.Object, "spec.serviceAccountName").(string)
	config := k.cluster.As(t, pod.GetNamespace(), name)
	authority := config.CAData
	if len(authority) == 0 {
		var err error
		if authority, err = os.ReadFile(config.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	for file, text := range map[string][]byte{"token": []byte(config.BearerToken), "ca.crt": authority, "namespace": []byte(pod.GetNamespace())} {
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	chmod(t, folder, 0o755)
	return folder
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// stop ends the container as a kubelet does, and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatal("the container does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// unpack unpacks the image of this architecture, and returns its configuration.
func unpack(t *testing.T, layout, tag, to string) spec.Image {
	t.Helper()
	var tagged, index spec.Index
	var manifest spec.Manifest
	var config spec.Image
	read(t, filepath.Join(layout, spec.ImageIndexFile), &tagged)
	found := slices.IndexFunc(tagged.Manifests, func(d spec.Descriptor) bool { return d.Annotations[spec.AnnotationRefName] == tag })
	if found < 0 {
		t.Fatalf("the image has no tag %s", tag)
	}
	read(t, blob(layout, tagged.Manifests[found]), &index)
	at := slices.IndexFunc(index.Manifests, func(d spec.Descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	read(t, blob(layout, index.Manifests[at]), &manifest)
	read(t, blob(layout, manifest.Config), &config)
	for _, layer := range manifest.Layers {
		if err := unpackLayer(blob(layout, layer), to); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func blob(layout string, d spec.Descriptor) string {
	return filepath.Join(layout, spec.ImageBlobsDir, "sha256", d.Digest.Encoded())
}

func read(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func unpackLayer(path, to string) error {
	packed, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackEntry(r, header, filepath.Join(to, header.Name)); err != nil {
			return err
		}
	}
}

func unpackEntry(r io.Reader, header *tar.Header, path string) error {
	if header.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	} else {
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.Chmod(path, header.FileInfo().Mode()), os.Chown(path, header.Uid, header.Gid))
}
