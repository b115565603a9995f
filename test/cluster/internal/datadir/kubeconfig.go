package datadir

import (
	"encoding/base64"
	"fmt"
	"os"
)

// KubeconfigFile is the name of the administrator's kubeconfig in the folder.
const KubeconfigFile = "admin.kubeconfig"

// WriteKubeconfig writes the administrator's kubeconfig. The certificate of
// the authority is inside of it, so that the file may be copied elsewhere.
func (f *Folder) WriteKubeconfig(server, token string) error {
	ca, err := os.ReadFile(f.Path(CACertFile))
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return f.write(KubeconfigFile, []byte(kubeconfig(server, token, ca)))
}

func kubeconfig(server, token string, ca []byte) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: devcluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user:
    token: %s
contexts:
- name: devcluster
  context: {cluster: devcluster, user: admin, namespace: default}
current-context: devcluster
`, server, base64.StdEncoding.EncodeToString(ca), token)
}
