package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The navigation of the site has each page of the manual once, and no others.
func TestSiteHasEachPage(t *testing.T) {
	_, nav, found := strings.Cut(read(t, "mkdocs.yml"), "\nnav:\n")
	if !found {
		t.Fatal("mkdocs.yml has no navigation")
	}
	listed := regexp.MustCompile(`[\w-]+\.md`).FindAllString(nav, -1)
	slices.Sort(listed)
	var pages []string
	for _, path := range files(t, "docs", ".md") {
		if name := strings.TrimPrefix(path, "docs/"); !strings.Contains(name, "/") {
			pages = append(pages, name)
		}
	}
	slices.Sort(pages)
	if !slices.Equal(listed, pages) {
		t.Errorf("mkdocs.yml lists %v; the manual has %v", listed, pages)
	}
}
