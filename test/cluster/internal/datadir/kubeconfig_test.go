package datadir

import (
	"strings"
	"testing"
)

func TestWriteKubeconfig(t *testing.T) {
	folder := open(t)
	if err := folder.WriteKubeconfig("https://127.0.0.1:1", "x"); err == nil {
		t.Error("without an authority: got no error")
	}
	if err := folder.EnsureKeys(); err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteKubeconfig("https://127.0.0.1:18443", "secret"); err != nil {
		t.Fatal(err)
	}
	got := string(read(t, folder, KubeconfigFile))
	for _, want := range []string{
		"server: https://127.0.0.1:18443\n",
		"token: secret\n",
		"current-context: devcluster\n",
		"certificate-authority-data: LS0tLS1CRUdJTi", // "-----BEGIN"
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}
