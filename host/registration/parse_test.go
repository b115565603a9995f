package registration

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

// of makes a registration of handlers.
func of(handlers ...string) string { return `{"handlers":[` + strings.Join(handlers, ",") + `]}` }

// pods is a handler for pods with more options.
func pods(kind, options string) string {
	if options != "" {
		options = "," + options
	}
	return `{"kind":"` + kind + `","id":"fn","resource":{"args":["pods"]}` + options + `}`
}

// on is a handler with a selector.
func on(resource string) string {
	return of(`{"kind":"create","id":"fn","resource":` + resource + `}`)
}

func TestParseAccepts(t *testing.T) {
	for _, test := range []struct{ name, document string }{
		{"nothing", `{}`},
		{"everything at the top", `{"sdk":"x","operator":{"name":"a","version":"b"},"lifecycle":"all_at_once","handlers":[],"capabilities":{"http":["*.example.com"]}}`},
		{"unknown field at the top", `{"future":1}`},
		{"create", of(pods("create", `"errors":"PERMANENT","timeout":1.5,"retries":0,"backoff":0,"param":null`))},
		{"update by value", of(pods("update", `"field":["spec","a.b"],"value":{"a":1}`))},
		{"update by change", of(pods("update", `"field":["spec"],"old":{"$":"ABSENT"},"new":{"$":"PRESENT"}`))},
		{"delete", of(pods("delete", `"optional":true,"labels":{"a":{"$":"FUNCTION"},"b":"x"}`))},
		{"resume", of(pods("resume", `"deleted":true,"annotations":{"a":{"$":"ABSENT"}},"when":{"$":"FUNCTION"}`))},
		{"field", of(pods("field", `"field":["spec"]`))},
		{"value with a dollar", of(pods("field", `"field":["spec"],"new":{"$":"VALUE","value":{"$":1}}`))},
		{"event", of(pods("event", ""))},
		{"timer", of(pods("timer", `"interval":0.1,"idle":2,"sharp":true,"initial_delay":{"$":"FUNCTION"}`))},
		{"daemon", of(pods("daemon", `"initial_delay":3,"cancellation_backoff":1,"cancellation_timeout":2,"cancellation_polling":3`))},
		{"index", of(pods("index", `"errors":"IGNORED"`))},
		{"validate", of(pods("validate", `"operations":["CREATE"],"subresource":"*","persistent":true,"side_effects":true,"ignore_failures":true`))},
		{"mutate", of(pods("mutate", ""))},
		{"convert", of(pods("convert", `"from":"v1","to":"v2"`))},
		{"startup", of(`{"kind":"startup","id":"a","retries":2}`)},
		{"probe", of(`{"kind":"probe","id":"a"}`, `{"kind":"login","id":"b"}`, `{"kind":"cleanup","id":"c"}`, `{"kind":"background","id":"d"}`)},
		{"null is absent", of(pods("create", `"interval":null,"retries":null,"value":null`))},
		{"three arguments", on(`{"args":["","v1","pods"]}`)},
		{"everything", on(`{"args":["apps",{"$":"EVERYTHING"}]}`)},
		{"by kind", on(`{"group":"apps","version":"v1","kind":"Deployment"}`)},
		{"arguments and a version", on(`{"args":["pods"],"version":"v1"}`)},
		{"function selector", on(`{"function":true}`)},
		{"function and a group", on(`{"function":true,"group":"apps","version":"v1"}`)},
		{"one function for several causes", of(pods("create", `"fn":"a"`), pods("update", `"fn":"a"`), pods("resume", `"fn":"a"`))},
		{"twins in different causes", of(pods("create", `"fn":"a"`), pods("update", `"fn":"b"`))},
		{"twins with different fields", of(pods("field", `"fn":"a","field":["a"]`), pods("field", `"fn":"b","field":["b"]`))},
		{"twins with different labels", of(pods("create", `"fn":"a","labels":{"l":"x"}`), pods("create", `"fn":"b","labels":{"l":"y"}`))},
		{"twins by presence", of(pods("create", `"fn":"a","labels":{"l":{"$":"PRESENT"}}`), pods("create", `"fn":"b","labels":{"l":{"$":"ABSENT"}}`))},
		{"twins for different resources", of(pods("create", `"fn":"a"`), `{"kind":"create","id":"fn","fn":"b","resource":{"args":["nodes"]}}`)},
		{"twins by functions", of(pods("create", `"fn":"a","when":{"$":"FUNCTION"}`), pods("create", `"fn":"b","when":{"$":"FUNCTION"}`))},
		{"twins for events", of(pods("event", `"fn":"a"`), pods("event", `"fn":"b"`))},
		{"twins of activities", of(`{"kind":"startup","id":"a","fn":"a"}`, `{"kind":"startup","id":"a","fn":"b"}`, `{"kind":"probe","id":"a","fn":"c"}`, `{"kind":"probe","id":"a","fn":"d"}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse([]byte(test.document)); err != nil {
				t.Errorf("%s: %v", test.document, err)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ name, document, want string }{
		{"no JSON", `{`, "unexpected end of JSON"},
		{"not UTF-8", "{\"sdk\":\"\xff\"}", "not UTF-8"},
		{"a list", `[]`, "it does not take a list: want an object"},
		{"lifecycle", `{"lifecycle":"sometimes"}`, `unknown lifecycle "sometimes"`},
		{"handler is no object", of(`1`), "handler number 0: it is not an object"},
		{"handler is null", of(`null`), "handler number 0: it is not an object"},
		{"no kind", of(`{"id":"a"}`), `handler "a": it has no kind`},
		{"no id", of(`{"kind":"startup"}`), "handler number 0: option id is required"},
		{"id of another type", of(`{"kind":"startup","id":1}`), "option id: it does not take a number: want a string"},
		{"unknown kind", of(`{"kind":"upsert","id":"a"}`), `upsert handler "a": unknown kind "upsert"`},
		{"child at the top", of(`{"kind":"sub","id":"a"}`), `only for children`},
		{"unknown option", of(pods("create", `"label":{}`)), `create handler "fn": unknown option label`},
		{"option in capitals", of(pods("create", `"Retries":1`)), "unknown option Retries"},
		{"option of another kind", of(pods("create", `"interval":1`)), "option interval is not for create handlers"},
		{"retries of events", of(pods("event", `"retries":1`)), "option retries is not for event handlers"},
		{"errors of reviews", of(pods("validate", `"errors":"IGNORED"`)), "option errors is not for validate handlers"},
		{"old of creation", of(pods("create", `"field":["a"],"old":1`)), "option old is not for create handlers"},
		{"resource of an activity", of(`{"kind":"startup","id":"a","resource":{"args":["pods"]}}`), "option resource is not for startup handlers"},
		{"no resource", of(`{"kind":"create","id":"a"}`), "option resource is required"},
		{"errors", of(pods("create", `"errors":"RETRY"`)), `option errors: invalid value "RETRY": must be TEMPORARY`},
		{"negative timeout", of(pods("create", `"timeout":-1`)), "option timeout: -1 seconds: must be 0 or more"},
		{"negative retries", of(pods("create", `"retries":-1`)), "option retries: -1: must be 0 or more"},
		{"text for a list of rights", `{"capabilities":{"kubernetes":[{"verbs":"get"}]}}`, "capabilities.kubernetes.verbs: it does not take a string: want a list"},
		{"text for a rule", `{"capabilities":{"kubernetes":["get:pods"]}}`, "capabilities.kubernetes: it does not take a string: want an object"},
		{"number for a name", `{"operator":{"name":5}}`, "operator.name: it does not take a number: want a string"},
		{"number for a lifecycle", `{"lifecycle":5}`, "lifecycle: it does not take a number: want a string"},
		{"object for handlers", `{"handlers":{}}`, "handlers: it does not take an object: want a list"},
		{"fraction of retries", of(pods("create", `"retries":1.5`)), "option retries: it does not take a number 1.5: want a whole number"},
		{"list for seconds", of(pods("create", `"timeout":[]`)), "option timeout: it does not take a list: want a number"},
		{"endless seconds", of(pods("create", `"timeout":1e999`)), "option timeout: it does not take a number 1e999: want a number"},
		{"text for seconds", of(pods("create", `"timeout":"1s"`)), "option timeout: it does not take a string: want a number"},
		{"initial delay", of(pods("timer", `"initial_delay":"soon"`)), "option initial_delay"},
		{"value and old", of(pods("update", `"field":["a"],"value":1,"old":2`)), "option value cannot be combined with old or new"},
		{"filters of a conversion", of(pods("convert", `"from":"v1","to":"v2","labels":{"a":"b"}`)), "option labels is not for convert handlers"},
		{"value without field", of(pods("update", `"value":1`)), "options value, old and new need the option field"},
		{"field without field", of(pods("field", "")), "option field is required"},
		{"empty part of a field", of(pods("field", `"field":["a",""]`)), "option field: an empty part"},
		{"long field", of(pods("event", `"field":["`+strings.Repeat("x", 5000)+`"]`)), "option field: a path of more than 4096 bytes"},
		{"null label", of(pods("create", `"labels":{"a":null}`)), "option labels: a: null is not supported; use PRESENT or ABSENT"},
		{"null annotation", of(pods("create", `"annotations":{"a":null}`)), "option annotations: a: null"},
		{"when is a value", of(pods("create", `"when":true`)), "option when: it is always a function"},
		{"unknown marker", of(pods("create", `"labels":{"a":{"$":"MAYBE"}}`)), `option labels: a: unknown marker {"$":"MAYBE"}`},
		{"marker with more", of(pods("field", `"field":["a"],"new":{"$":"PRESENT","x":1}`)), "option new: unknown marker"},
		{"operations", of(pods("validate", `"operations":["READ"]`)), `option operations: invalid value "READ": must be`},
		{"no operations", of(pods("validate", `"operations":[]`)), "option operations: an empty list"},
		{"conversion", of(pods("convert", `"from":"v1"`)), "options from and to are required"},
		{"four arguments", on(`{"args":["a","b","c","d"]}`), "option resource: 4 arguments"},
		{"no name", on(`{"group":"apps"}`), "unspecific"},
		{"empty selector", on(`{}`), "unspecific"},
		{"two names", on(`{"plural":"pods","kind":"Pod"}`), "ambiguous"},
		{"arguments and a name", on(`{"args":["pods"],"plural":"pods"}`), "ambiguous"},
		{"empty name", on(`{"args":["v1",""]}`), "the name is empty"},
		{"argument is a number", on(`{"args":[1]}`), "argument 1 is not a string"},
		{"everything in front", on(`{"args":[{"$":"EVERYTHING"},"pods"]}`), "argument 1 is not a string"},
		{"function and a name", on(`{"function":true,"plural":"pods"}`), "ambiguous"},
		{"function and an argument", on(`{"function":true,"args":["pods"]}`), "ambiguous"},
		{"twins", of(pods("create", `"fn":"a"`), pods("create", `"fn":"b"`)), `two functions with the id "fn" meet in one cause (create): a and b would share one progress: give one of them another id`},
		{"twins without functions", of(pods("create", ""), pods("create", "")), "one without a name and one without a name"},
		{"twins in resuming", of(pods("resume", `"fn":"a"`), pods("create", `"fn":"b"`)), "meet in one cause (create)"},
		{"twins with equal fields", of(pods("field", `"fn":"a","field":["a"]`), pods("update", `"fn":"b","field":["a"]`)), "meet in one cause"},
		{"twins, one by a function", of(pods("create", `"fn":"a","when":{"$":"FUNCTION"}`), pods("create", `"fn":"b"`)), "meet in one cause (create)"},
		{"twins of reviews by functions", of(pods("validate", `"fn":"a","when":{"$":"FUNCTION"}`), pods("validate", `"fn":"b","when":{"$":"FUNCTION"}`)), "meet in one cause (admission)"},
		{"twins of logins", of(`{"kind":"login","id":"a","fn":"a"}`, `{"kind":"login","id":"a","fn":"b"}`), "meet in one cause (login)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.document))
			if !errors.Is(err, ErrRegistration) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseKeepsEverything(t *testing.T) {
	r, err := Parse([]byte(of(pods("timer", `"fn":"main.f","param":{"a":[1]},"interval":2.5,"labels":{"a":"b"},"retries":3`))))
	if err != nil {
		t.Fatal(err)
	}
	interval, retries := 2.5, 3
	want := []abi.Handler{{
		Kind: abi.KindTimer, ID: "fn", Fn: "main.f", Param: abi.Raw(`{"a":[1]}`),
		Resource: &abi.Selector{Args: []abi.Raw{abi.Raw(`"pods"`)}},
		Interval: &interval, Retries: &retries, Labels: map[string]abi.Raw{"a": abi.Raw(`"b"`)},
	}}
	if diff := cmp.Diff(want, r.Handlers); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefusal(t *testing.T) {
	r, err := Parse([]byte(`{"error":"KEY is missing","handlers":[{}]}`))
	if err != nil || r.Error != "KEY is missing" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestParseChildren(t *testing.T) {
	raws := func(texts ...string) (all []json.RawMessage) {
		for _, text := range texts {
			all = append(all, json.RawMessage(text))
		}
		return all
	}
	children, err := ParseChildren(raws(`{"kind":"sub","id":"a","field":["x"],"old":1,"retries":2}`, `{"kind":"sub","id":"b","when":{"$":"FUNCTION"}}`))
	if err != nil || len(children) != 2 || children[1].ID != "b" {
		t.Errorf("%+v, %v", children, err)
	}
	for _, test := range []struct{ name, child, want string }{
		{"another kind", `{"kind":"create","id":"a"}`, `child create handler "a": the kind of a child is "sub"`},
		{"resource", `{"kind":"sub","id":"a","resource":{"args":["pods"]}}`, "option resource is not for sub handlers"},
		{"unknown option", `{"kind":"sub","id":"a","x":1}`, "unknown option x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ParseChildren(raws(test.child)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}
