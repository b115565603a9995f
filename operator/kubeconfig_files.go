package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// read reads the kubeconfig. client-go reads files of any kind and size, and waits for pipes without an end. So a single file is
// read here, which may be a pipe; several files, which client-go merges, must be regular.
func read(rules *clientcmd.ClientConfigLoadingRules) (*clientcmdapi.Config, error) {
	files := rules.GetLoadingPrecedence()
	if len(files) == 1 {
		raw, err := readFile(files[0])
		if !errors.Is(err, fs.ErrNotExist) {
			return raw, err
		}
		files = nil // client-go knows whether the file must exist
	}
	for _, file := range files {
		if err := checkNamed(file); err != nil {
			return nil, err
		}
	}
	return rules.Load()
}

// readFile reads a file as clientcmd.LoadFromFile does, and resolves its paths.
func readFile(path string) (*clientcmdapi.Config, error) {
	text, err := boundedfile.Read(path, boundedfile.MaxDocument)
	if err != nil {
		return nil, err
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		problem, _, _ := strings.Cut(err.Error(), " into Go ")                         // without types of Go
		return nil, fmt.Errorf("error loading config file %q: %.1000s", path, problem) // it can show much of the file
	}
	for _, item := range raw.AuthInfos {
		item.LocationOfOrigin = path
	}
	for _, item := range raw.Clusters {
		item.LocationOfOrigin = path
	}
	for _, item := range raw.Contexts {
		item.LocationOfOrigin = path
	}
	return raw, clientcmd.ResolveLocalPaths(raw)
}

// checkFiles refuses files of the current context that client-go could read for ever.
func checkFiles(raw *clientcmdapi.Config) error {
	chosen := raw.Contexts[raw.CurrentContext]
	files := []string{raw.Clusters[chosen.Cluster].CertificateAuthority}
	if user := raw.AuthInfos[chosen.AuthInfo]; user != nil {
		files = append(files, user.ClientCertificate, user.ClientKey, user.TokenFile)
	}
	for _, file := range files {
		if err := checkNamed(file); err != nil {
			return err
		}
	}
	return nil
}

// checkNamed refuses a file that is not regular, or too large. The reader of the file reports that it does not exist.
func checkNamed(file string) error {
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.Size() > boundedfile.MaxDocument {
		return fmt.Errorf("%s has more than %d MiB", file, boundedfile.MaxDocument>>20)
	}
	return boundedfile.CheckNamed(file)
}
