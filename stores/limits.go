package stores

import "fmt"

// AnnotationsLimit is how many bytes the keys and values of all annotations of
// an object may have together. API servers refuse objects with more.
//
// See https://kubernetes.io/docs/reference/labels-annotations-taints/ and
// apimachinery's validation.TotalAnnotationSizeLimitB.
const AnnotationsLimit = 256 << 10

// CheckAnnotations tells before a patch is sent, and so before handlers are
// called in vain, whether the object's annotations would become too large.
func CheckAnnotations(body Object, patch *Patch) error {
	size := 0
	patched := annotationsOf(patch.Object())
	for key, value := range annotationsOf(body) {
		if _, ok := patched[key]; !ok {
			size += annotationSize(key, value)
		}
	}
	for key, value := range patched {
		size += annotationSize(key, value)
	}
	if size > AnnotationsLimit {
		return fmt.Errorf("the annotations would have %d bytes, and Kubernetes allows %d: "+
			"keep the progress and the diff-base in the status instead (storages of the type \"status\")",
			size, AnnotationsLimit)
	}
	return nil
}

// annotationSize is zero for annotations that a patch removes.
func annotationSize(key string, value any) int {
	text, ok := value.(string)
	if !ok {
		return 0
	}
	return len(key) + len(text)
}
