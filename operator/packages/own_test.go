package packages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"import a":                     "[a]",
		"import a.b as c, d\nimport e": "[a d e]",
		"from a.b import (\n c,\n d)\nfrom . import x":   "[a]",
		"if x: import a; import b":                       "[a b]",
		"try:\n  import a\nexcept ImportError: pass":     "[a]",
		"def f(x={'import': 1}):\n\timport a # import b": "[a]",
		"'''\nimport a\n'''\nimport b":                   "[b]",
		"x = 'import a'; y = \"\\\"\\nimport b\"":        "[]",
		"x = r'\\'\nimport a":                            "[a]",
		"import \\\n  a":                                 "[a]",
		"important = 1\nfrom_x = 2\nyield_from = a":      "[]",
		"x = (1,\nimport_)\nimport größe":                "[größe]",
		"from a":                                         "[]",
		"'unterminated\nimport a":                        "[a]",
		"import":                                         "[]",
		"\ufeffimport a":                                 "[a]",
		"\"\"\"":                                         "[]",
		"x = [\nimport a":                                "[]",
	} {
		if got := fmt.Sprint(imported(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Only modules that are imported are read, with their packages, and theirs.
func TestOwnModulesAreRead(t *testing.T) {
	root := tree(t, map[string]string{
		"op.py": "", "helpers.py": "import deep.sub, json", "other.py": "", "secret.yaml": "x", "deep/__init__.py": "", "deep/sub.py": "from . import rest\nimport late",
		"deep/rest.py": "", "deep/data/template.yaml": "t", "deep/__pycache__/sub.pyc": "", "deep/.env": "", "late.py": "", "config/secret.yaml": "s",
	})
	got, err := Own(root, []byte("import helpers, config\nfrom other_package import other"), 0)
	if want := "script/deep/__init__.py script/deep/data/template.yaml script/deep/rest.py script/deep/sub.py script/helpers.py script/late.py"; err != nil || pathsOf(got) != want {
		t.Errorf("%s, %v\nwant %s", pathsOf(got), err, want)
	}
	if _, err := Own(root, []byte("import helpers"), 20); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if got, err := Own(filepath.Join(root, "absent"), []byte("import helpers"), 0); err != nil || len(got) > 0 {
		t.Errorf("no folder: %v, %v", got, err)
	}
}

// Volumes of Kubernetes have links in place of files.
func TestLinkedModulesAreRead(t *testing.T) {
	root := tree(t, map[string]string{"..data/helpers.py": "x = 1"})
	if err := os.Symlink(filepath.Join("..data", "helpers.py"), filepath.Join(root, "helpers.py")); err != nil {
		t.Skip(err)
	}
	got, err := Own(root, []byte("import helpers"), 0)
	if err != nil || string(got["script/helpers.py"]) != "x = 1" {
		t.Errorf("%v, %v", got, err)
	}
}

// A folder that comes from others has links to files of the person who runs its script: the script must not see them.
func TestLinksOutOfTheFolderAreRefused(t *testing.T) {
	outside := tree(t, map[string]string{"credentials": "secret", "library/__init__.py": "secret = 1"})
	for name, target := range map[string]string{
		"helpers.py":       filepath.Join(outside, "credentials"),
		"deep/data.txt":    filepath.Join(outside, "credentials"),
		"deep/up.py":       "../../" + filepath.Base(outside) + "/credentials",
		"helpers":          filepath.Join(outside, "library"),
		"deep/more.py":     "/proc/self/environ",
		"deep/descriptors": "/dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"deep/__init__.py": "", "deep/sub.py": ""})
			if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Skip(err)
			}
			got, err := Own(root, []byte("import helpers, deep"), 0)
			for path, content := range got {
				if len(content) > 0 {
					t.Errorf("%s has %d bytes: %.20q", path, len(content), content)
				}
			}
			if name != "helpers" && (err == nil || !strings.Contains(err.Error(), filepath.Base(name)) || !strings.Contains(err.Error(), "a link must lead to a file of this folder")) {
				t.Errorf("error %v", err)
			}
		})
	}
}
