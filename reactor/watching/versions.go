package watching

import "k8s.io/apimachinery/pkg/util/resourceversion"

// IsLater reports whether a resource version is later than another one. It is false for versions that cannot be compared.
//
// See https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
func IsLater(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
