// Command demo shows an operator at work: it starts a throw-away cluster, runs
// `kopf run` on an example, applies an object, and prints what has become of it.
// Nothing is left running.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

const (
	example = "examples/01-minimal"
	module  = ".cache/guests/01-minimal.wasm"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	examples    = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := demo(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "kopf-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	say("starting a cluster (kube-apiserver and etcd in one process)...")
	kubeconfig, stopCluster, err := startCluster(ctx, folder)
	if err != nil {
		return err
	}
	defer stopCluster()
	client, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	if err := apply(ctx, client.Resource(definitions), filepath.Join(example, "crd.yaml")); err != nil {
		return err
	}

	if err := served(ctx, client.Resource(examples)); err != nil {
		return err
	}

	say("kopf run %s -n default", module)
	stopOperator, err := startOperator(ctx, kubeconfig)
	if err != nil {
		return err
	}
	objects := client.Resource(examples).Namespace("default")
	say("kubectl apply -f %s", filepath.Join(example, "obj.yaml"))
	if err := apply(ctx, objects, filepath.Join(example, "obj.yaml")); err != nil {
		stopOperator()
		return err
	}
	object, err := handled(ctx, objects)
	stopOperator()
	if err != nil {
		return err
	}
	say("kubectl get kex kopf-example-1 -o yaml")
	return show(object)
}

func say(format string, args ...any) { fmt.Printf("\n--- "+format+"\n", args...) }

// startCluster returns when the API server is ready.
func startCluster(ctx context.Context, folder string) (kubeconfig string, stop func(), err error) {
	cmd := exec.Command(".cache/bin/devcluster", "run", "--dir", filepath.Join(folder, "cluster"), "--no-fsync", "--controllers=false")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	stop, err = start(cmd)
	if err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	kubeconfig, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		stop()
		return "", nil, fmt.Errorf("the cluster did not start: %q, %w", line, errors.Join(err, ctx.Err()))
	}
	return kubeconfig, stop, nil
}

// startOperator returns when the operator watches.
func startOperator(ctx context.Context, kubeconfig string) (stop func(), err error) {
	cmd := exec.Command("bin/kopf", "run", module, "-n", "default", "--standalone", "--verbose")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdout = os.Stdout
	output, input := io.Pipe()
	cmd.Stderr = input
	watching := make(chan struct{})
	go copyLines(output, watching) // Ends with the process of the demo.
	if stop, err = start(cmd); err != nil {
		return nil, err
	}
	select {
	case <-watching:
		return stop, nil
	case <-ctx.Done():
		stop()
		return nil, fmt.Errorf("the operator did not start: %w", ctx.Err())
	}
}

// copyLines shows the log of the operator, without the debug messages, and tells
// when it has begun to watch.
func copyLines(log io.Reader, watching chan<- struct{}) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, "Starting the watch-stream for kopfexamples") {
			close(watching)
		}
		if !strings.Contains(line, "[DEBUG") {
			fmt.Println(line)
		}
	}
}

// start starts a process, and gives a function that stops it and waits for it.
func start(cmd *exec.Cmd) (stop func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which stops the others in order
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		_ = cmd.Wait()                          // how it ended does not matter anymore
	}, nil
}

func connect(kubeconfig string) (dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// apply creates an object from a file, as soon as its resource is served.
func apply(ctx context.Context, client dynamic.ResourceInterface, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &object.Object); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for {
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		if err == nil || !apierrors.IsNotFound(err) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// served waits until the API server serves the resource.
func served(ctx context.Context, client dynamic.ResourceInterface) error {
	for {
		_, err := client.List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			return nil
		}
		if pause(ctx) != nil {
			return fmt.Errorf("the resource is not served: %w", err)
		}
	}
}

// handled waits until the object has been handled.
func handled(ctx context.Context, client dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
	for {
		object, err := client.Get(ctx, "kopf-example-1", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if _, done := object.Object["status"]; done {
			return object, nil
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("the object was not handled: %w", err)
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func show(object *unstructured.Unstructured) error {
	object.SetManagedFields(nil)
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
