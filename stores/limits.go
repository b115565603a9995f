package stores

import "fmt"

// AnnotationsLimit bounds the keys and values of all annotations of an object together, in
// bytes. API servers refuse larger objects.
//
// See https://kubernetes.io/docs/reference/labels-annotations-taints/ and
// apimachinery's validation.TotalAnnotationSizeLimitB.
const AnnotationsLimit = 256 << 10

// CheckAnnotations returns an error if the patch would make the object's annotations too
// large. It is called before handlers run and before the patch is sent.
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

// annotationSize returns zero for annotations that a patch removes.
func annotationSize(key string, value any) int {
	text, ok := value.(string)
	if !ok {
		return 0
	}
	return len(key) + len(text)
}
