package host

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/registration"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// TestDeclarationsMeanWhatIsRegistered: repeated keys must not have two meanings: then a module could declare, and show to people
// and policies, filters that its handlers do not have.
func TestDeclarationsMeanWhatIsRegistered(t *testing.T) {
	const narrow, wide = `{"kind":"event","id":"fn","resource":{"args":["secrets"]},"labels":{"a":{"$":"PRESENT"}}}`, `{"kind":"event","id":"fn","resource":{"args":["secrets"]}}`
	for _, text := range []string{
		`{"handlers":[` + narrow + `]}`,
		`{"handlers":[` + narrow + `],"handlers":[` + wide + `]}`,
		`{"handlers":[` + wide + `],"handlers":[` + narrow + `]}`,
		`{"handlers":[` + narrow + `],"HANDLERS":[` + wide + `]}`,
		`{"HANDLERS":[` + narrow + `],"handlers":[` + wide + `]}`,
		`{"handlers":[{"kind":"event","id":"fn","resource":{"args":["secrets"]},"labels":{"a":"1"},"labels":{"b":"1"}}]}`,
		`{"handlers":[{"kind":"event","id":"fn","resource":{"plural":"pods"},"resource":{"group":"apps","plural":"secrets"}}]}`,
		`{"handlers":[],"capabilities":{"kubernetes":[{"groups":[""],"resources":["pods"],"verbs":["get"],"namespaces":["a"]}]},"capabilities":{"kubernetes":[{"groups":[""],"resources":["pods"],"verbs":["get"]}]}}`,
	} {
		d := declaration.Declaration{Version: 1, Registration: json.RawMessage(text)}
		is, err := registration.Parse([]byte(text))
		if err != nil {
			if _, err := d.Parsed(); !errors.Is(err, dicts.ErrRepeated) {
				t.Errorf("%s can be declared: %v", text, err)
			}
			continue
		}
		shown, err := d.Parsed()
		if diff := cmp.Diff(is, shown); err != nil || diff != "" {
			t.Errorf("%s: %v (-registered +declared):\n%s", text, err, diff)
		}
		for declared, within := range map[string]bool{`{"handlers":[` + narrow + `]}`: len(is.Handlers) == 0 || len(is.Handlers[0].Labels["a"]) > 0, `{"handlers":[` + wide + `]}`: true} {
			d := declaration.Declaration{Version: 1, Dynamic: true, Registration: json.RawMessage(declared)}
			if is.Capabilities != nil || len(is.Handlers) > 0 && len(is.Handlers[0].Resource.Args) == 0 {
				continue
			}
			if err := d.Check(nil, []byte(text)); (err == nil) != within {
				t.Errorf("%s is registered, %s is declared: %v", text, declared, err)
			}
		}
	}
}
