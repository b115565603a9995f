package layout_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

const mediaIndex = "application/vnd.oci.image.index.v1+json"

func TestIndexListsManifests(t *testing.T) {
	first, second := layout.Describe(layout.MediaManifest, []byte("amd64")), layout.Describe(layout.MediaManifest, []byte("arm64"))
	entry := func(d layout.Descriptor) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"platform":{"os":"linux","architecture":"any"}}`, d.MediaType, d.Digest, d.Size)
	}
	for name, tt := range map[string]struct {
		mediaType, content string
		want               []layout.Descriptor
	}{
		"index":           {mediaIndex, `{"mediaType":"` + mediaIndex + `","manifests":[` + entry(first) + `,` + entry(second) + `]}`, []layout.Descriptor{first, second}},
		"index of Docker": {"application/vnd.docker.distribution.manifest.list.v2+json", `{"manifests":[` + entry(first) + `]}`, []layout.Descriptor{first}},
		"empty index":     {mediaIndex, `{"manifests":[]}`, []layout.Descriptor{}},
		"manifest":        {layout.MediaManifest, `{"layers":[{}],"manifests":[` + entry(first) + `]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := layout.Listed(tt.mediaType, []byte(tt.content))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadIndicesAreRefused(t *testing.T) {
	many := `{"manifests":[` + strings.TrimSuffix(strings.Repeat(`{},`, 101), ",") + `]}`
	for name, tt := range map[string]struct{ mediaType, content, want string }{
		"other type":  {"text/html", `{}`, `its type is "text/html"`},
		"no type":     {"", `{}`, `its type is ""`},
		"no JSON":     {mediaIndex, `<html>`, "not"},
		"two types":   {mediaIndex, `{"mediaType":"` + layout.MediaManifest + `"}`, "the registry says"},
		"too many":    {mediaIndex, many, "101 manifests, and the limit is 100"},
		"no digest":   {mediaIndex, `{"manifests":[{"mediaType":"` + layout.MediaManifest + `","digest":"md5:1"}]}`, `it lists "md5:1"`},
		"no manifest": {mediaIndex, `{"manifests":[{"mediaType":"text/plain","digest":"` + layout.Digest(nil) + `"}]}`, `of the type "text/plain"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := layout.Listed(tt.mediaType, []byte(tt.content)); !errors.Is(err, layout.ErrImage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// The worst indices take memory in proportion to their size.
func TestWorstIndices(t *testing.T) {
	for name, part := range map[string]string{"manifests": `{},`, "null manifests": `null,`, "annotations": `{"annotations":{"a":"b"}},`} {
		content := `{"manifests":[` + strings.TrimSuffix(strings.Repeat(part, (layout.MaxManifest-100)/len(part)), ",") + `]}`
		boundedtest.Parse(t, name, []byte(content), func(content []byte) error {
			_, err := layout.Listed(mediaIndex, content)
			return err
		})
	}
}
