package host

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// scripted is an operator in JavaScript, with the function of its only handler.
func scripted(t *testing.T, handler string) *Module {
	t.Helper()
	return loaded(t, "op.js", engineOf(t, "javascript"), scriptOf(handler))
}

// scriptOf is the configuration of a script with one handler.
func scriptOf(handler string) Options {
	script := `kopf.on.create("kopfexamples", ` + handler + `);`
	return Options{Config: map[string]string{"KOPF_SCRIPT": script, "KOPF_SCRIPT_NAME": "op.js"}}
}

// TestScriptsKeepTheirFilters: without them, handlers would get objects that the script excludes, or would be repeated for ever.
func TestScriptsKeepTheirFilters(t *testing.T) {
	t.Parallel()
	m := scripted(t, `{ field: "spec.x", value: null }, function fn() {}`)
	if got := string(m.Registration().Handlers[0].Value); got != `{"$":"VALUE","value":null}` {
		t.Errorf("value = %s", got)
	}
	for script, want := range map[string]string{
		`{ labels: { app: kopf.config("APP") } }, function fn() {}`:     "create: the filter of app in labels is undefined",
		`{ field: "spec.x", value: kopf.Present }, function fn() {}`:    "TypeError: kopf has no Present",
		`{ retries: Number(kopf.config("RETRIES")) }, function fn() {}`: "create: the option retries is NaN",
	} {
		m, err := Load(t.Context(), "op.js", engineOf(t, "javascript"), withCache(t, scriptOf(script)))
		if err == nil {
			_ = m.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v", script, err)
		}
	}
}

// TestScriptsFiltersCannotWait: a promise counts as true, whatever comes of it.
func TestScriptsFiltersCannotWait(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"%", "kopf.not(%)", "kopf.all([%])", "kopf.any([%])", "kopf.none([%])"} {
		m := scripted(t, `{ when: `+strings.Replace(when, "%", "async () => false", 1)+` }, function fn() {}`)
		q := &abi.Questions{Invocation: abi.Invocation{Name: "obj1"}, Questions: []abi.Question{{Callbacks: []abi.Callback{{Option: "when"}}}}}
		answers, err := m.Ask(t.Context(), q, []byte(`{}`), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		if failed := answers.Answers[0].Error; failed == nil || !strings.Contains(failed.Message, "filters cannot wait") {
			t.Errorf("%s: %+v", when, answers.Answers[0])
		}
	}
}

// TestScriptsSayWhatIsWrong: without an error, they would wait for ever, or try again at once without an end.
func TestScriptsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ handler, want string }{
		"a wait for what is undefined":   {`async function fn({ spec }) { await kopf.sleep(spec.dely); }`, "kopf.sleep: a number of seconds is expected, not undefined"},
		"a wait for no number":           {`async function fn({ stopped }) { await stopped.wait(NaN); }`, "stopped.wait: a number of seconds is expected, not NaN"},
		"a delay that is no number":      {`function fn() { throw new kopf.TemporaryError("busy", NaN); }`, "TemporaryError: busy (its delay is a number of seconds, or null, not NaN)"},
		"children of an unnamed owner":   {`function fn() { kopf.adopt({}); }`, "the owner has no name: set one"},
		"one function to execute":        {`async function fn() { await kopf.execute(() => {}); }`, "kopf.execute: a list of functions, or an object with functions by their ids, is expected"},
		"a promise in a patch":           {`function fn({ patch }) { patch.status.x = Promise.resolve(1); }`, "TypeError: a promise has no form in JSON: await it first"},
		"a map as the result":            {`function fn() { return new Map([["a", 1]]); }`, "TypeError: a map has no form in JSON: Object.fromEntries makes an object of it"},
		"a set in a patch":               {`function fn({ patch }) { patch.status.x = { zones: new Set(["a"]) }; }`, "TypeError: a set has no form in JSON: [...set] is a list"},
		"a promise in a memo":            {`function fn({ memo }) { memo.update("x", async () => 1); }`, "a promise has no form in JSON: await it first"},
		"a change of the object":         {`function fn({ spec }) { spec.size = 1; }`, "object is not extensible"},
		"a change of a missing part":     {`function fn({ status }) { status.phase = "Ready"; }`, "object is not extensible: change the object by the patch, as in patch.status.x = 1"},
		"a property of a memo":           {`function fn({ memo }) { memo.count = 1; }`, "and a memo by memo.set(key, value)"},
		"nothing in a memo":              {`function fn({ memo }) { memo.update("x", (old = []) => { old.push(1); }); }`, "memo: the value of x is undefined, which has no form in JSON"},
		"a setting that is undefined":    {`function fn({ settings }) { settings.posting.level = kopf.config("LEVEL"); }`, "settings: the value of posting.level is undefined"},
		"an option of a child":           {`function fn({ body }) { kopf.adopt({}, { owner: body, block_owner_deletion: false }); }`, "kopf.appendOwnerReference: unknown option block_owner_deletion"},
		"a timer of browsers":            {`function fn() { setTimeout(() => {}, 5); }`, "setTimeout is not defined: await kopf.sleep(seconds)"},
		"an option of an event":          {`function fn({ body }) { kopf.exception(body, { exc: new Error("x") }); }`, "the event: unknown option exc"},
		"an option of a request":         {`async function fn() { await kopf.kubernetes.apply("/x", {}, { field_manager: "me" }); }`, "kopf.kubernetes.apply: unknown option field_manager"},
		"a change in a list of settings": {`function fn({ settings }) { settings.networking.error_backoffs.push(5); }`, "object is not extensible"},
	} {
		t.Run(name, func(t *testing.T) {
			invocation := &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1", Settings: abi.Raw(`{"networking.error_backoffs":[1]}`)}
			task, step, err := scripted(t, tt.handler).Start(t.Context(), invocation, []byte(`{"metadata":{"generateName":"obj-"},"spec":{}}`), &testEnv{})
			if err != nil {
				t.Fatal(err)
			}
			defer task.Release(t.Context())
			if step.Error == nil || !strings.Contains(step.Error.Message, tt.want) {
				t.Errorf("step = %+v, error %+v", step, step.Error)
			}
		})
	}
}

// TestScriptsShowCauses: an error is often about another one, which is what has happened.
func TestScriptsShowCauses(t *testing.T) {
	t.Parallel()
	for _, thrown := range []string{
		`new Error("outer", { cause: inner })`, `new kopf.PermanentError("outer", { cause: inner })`,
		`new kopf.TemporaryError("outer", { delay: 5, cause: inner })`, `new kopf.AdmissionError("outer", { code: 403, cause: inner })`,
	} {
		m := scripted(t, `function fn() { const inner = new RangeError("inner", { cause: new Error("innermost") }); throw `+thrown+`; }`)
		task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		defer task.Release(t.Context())
		_, causes, _ := strings.Cut(step.Error.Stack, "\nCaused by RangeError: inner\n")
		if step.Error.Message != "outer" || !strings.Contains(causes, "\nCaused by Error: innermost\n") {
			t.Errorf("%s: %+v", thrown, step.Error)
		}
		if seconds := step.Error.Delay.Seconds; (seconds == 5) != strings.Contains(thrown, "delay") || (step.Error.Code == 403) != strings.Contains(thrown, "code") {
			t.Errorf("%s: %+v", thrown, step.Error)
		}
	}
}

// TestScriptsChoosePausesOfEvents: without an error, they would be ignored.
func TestScriptsChoosePausesOfEvents(t *testing.T) {
	t.Parallel()
	m := scripted(t, `function fn({ body }) {
		kopf.event(body, { type: "Any", reason: "r", backoffs: 3 });
		kopf.info(body, { reason: "r", backoffs: [1, 2] });
		kopf.exception(body, { error: new TypeError("t"), backoffs: [] });
		kopf.warn(undefined, { reason: "r", message: "m" });
	}`)
	env := &testEnv{}
	task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1", UID: "u"}, []byte(`{"metadata":{"uid":"u"}}`), env)
	if err != nil || step.Error != nil {
		t.Fatal(err, step)
	}
	defer task.Release(t.Context())
	want := []abi.Event{
		{Type: "Any", Reason: "r", Backoffs: abi.Raw("3")},
		{Level: 20, Type: "Normal", Reason: "r", Backoffs: abi.Raw("[1,2]")},
		{Level: 40, Type: "Error", Reason: "TypeError", Message: "t", Backoffs: abi.Raw("[]")},
		{Level: 30, Type: "Warning", Reason: "r", Message: "m"},
	}
	if !reflect.DeepEqual(env.events, want) {
		t.Errorf("events = %+v", env.events)
	}
}

// TestScriptsEditInPlace: arrow functions return what they assign, and async ones a promise. Both would take the place of the object.
func TestScriptsEditInPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ edit, want string }{
		"a number":          {`(body) => body.spec.x = 3`, `{"metadata":{"name":"obj1"},"spec":{"x":3}}`},
		"a part":            {`(body) => body.spec = { y: 1 }`, `{"metadata":{"name":"obj1"},"spec":{"y":1}}`},
		"another object":    {`(body) => ({ ...body, spec: {} })`, `{"metadata":{"name":"obj1"},"spec":{}}`},
		"an async function": {`async (body) => { body.spec = {}; }`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"metadata":{"name":"obj1"},"spec":{}}`)
			m := scripted(t, `function fn({ patch }) { patch.edit(`+tt.edit+`); }`)
			task, _, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, body, &testEnv{})
			if err != nil {
				t.Fatal(err)
			}
			defer task.Release(t.Context())
			edited, err := task.Transform(t.Context(), body)
			if string(edited) != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("edited = %s, %v", edited, err)
			}
		})
	}
}

// TestScriptsEditLeavesNumbers: JavaScript rounds integers, and the whole object comes back from an edit.
func TestScriptsEditLeavesNumbers(t *testing.T) {
	t.Parallel()
	body := `{"metadata":{"name":"obj1"},"spec":{"id":1234567890123456789,"list":[9007199254740993,1.0],"size":1}}`
	m := scripted(t, `function fn({ patch }) { patch.edit((body) => { body.spec.size += 1; }); }`)
	task, _, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(body), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	edited, err := task.Transform(t.Context(), []byte(body))
	if want := strings.Replace(body, `"size":1`, `"size":2`, 1); err != nil || string(edited) != want {
		t.Errorf("edited = %s, %v", edited, err)
	}
}

// TestScriptsConvertLeavesNumbers: numbers that a conversion does not touch stay as they are, also after a wait.
func TestScriptsConvertLeavesNumbers(t *testing.T) {
	t.Parallel()
	body := `{"metadata":{"name":"obj1"},"spec":{"size":1,"id":1234567890123456789}}`
	for _, wait := range []string{"", "await kopf.sleep(1);"} {
		m := scripted(t, `async function fn({ body }) { `+wait+` const { size: replicas, ...spec } = body.spec; return { ...body, spec: { ...spec, replicas } }; }`)
		task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindConvert, ID: "fn", Name: "obj1"}, []byte(body), &testEnv{})
		if err == nil && wait != "" {
			step, err = task.Resume(t.Context(), abi.Answer{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"metadata":{"name":"obj1"},"spec":{"id":1234567890123456789,"replicas":1}}`; string(step.Result) != want {
			t.Errorf("%s: result = %s, error %+v", wait, step.Result, step.Error)
		}
		task.Release(t.Context())
	}
}

// TestScriptsNameIndicesFreely: an index is a property of what the library asks for the outcome.
func TestScriptsNameIndicesFreely(t *testing.T) {
	t.Parallel()
	m := scripted(t, `function fn({ changes }) { const pod = {}; kopf.adopt([[pod]]); return [typeof changes, pod.metadata.generateName]; }`)
	invocation := &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1", Indices: []string{"changes", "changed", "warned", "outcome", "constructor"}}
	task, step, err := m.Start(t.Context(), invocation, []byte(`{"metadata":{"name":"obj1"}}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if got := string(step.Result); got != `["object","obj1-"]` {
		t.Errorf("result = %s, error %+v", got, step.Error)
	}
}

// TestScriptsLearnThatTheyAreCancelled: also from a request, whose error they may catch. Otherwise the next wait would last.
func TestScriptsLearnThatTheyAreCancelled(t *testing.T) {
	t.Parallel()
	m := scripted(t, `async function fn({ logger }) { try { await kopf.fetch("https://a.example"); } catch (error) { logger.info(error.code); } await kopf.sleep(60); }`)
	for _, answer := range []abi.Answer{
		{Cancelled: true, Error: &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallCancelled}},
		{Cancelled: true}, // the operator ends
	} {
		env := &testEnv{}
		task, _, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), env)
		if err != nil {
			t.Fatal(err)
		}
		step, err := task.Resume(t.Context(), answer)
		if err != nil || step.Error == nil || step.Error.Type != "CancelledError" || !strings.Contains(strings.Join(env.logs, " "), abi.CallCancelled) {
			t.Errorf("step = %+v, %v, logs %q", step, err, env.logs)
		}
		task.Release(t.Context())
	}
}

// TestScriptsExecuteSideBySide: the positions of children are those of the list that the host got last.
func TestScriptsExecuteSideBySide(t *testing.T) {
	t.Parallel()
	m := scripted(t, `async function fn() { await Promise.all([kopf.execute({ a: () => "A" }), kopf.execute({ b: () => "B" })]); }`)
	task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	for _, want := range []string{"A", "B"} {
		if len(step.Children) != 1 || step.Children[0].ID != strings.ToLower(want) {
			t.Fatalf("step = %+v", step)
		}
		child, result, err := task.Start(t.Context(), &abi.Invocation{Kind: abi.KindSub, ID: "fn/" + want, Name: "obj1"}, []byte(`{}`), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		child.Release(t.Context())
		if got := string(result.Result); got != `"`+want+`"` {
			t.Errorf("the child %s returns %s", want, got)
		}
		if step, err = task.Resume(t.Context(), abi.Answer{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScriptsShareThePatchWithSubHandlers: what closures change in the patch of their parent, whose last step is over, is in theirs.
func TestScriptsShareThePatchWithSubHandlers(t *testing.T) {
	t.Parallel()
	m := scripted(t, `function fn({ patch }) {
		patch.status.x = { a: 1 };
		kopf.subhandler({ id: "a" }, (own) => { patch.status.x = { a: 1, b: 2 }; own.patch.spec.y = 3; patch.edit(() => {}); });
		kopf.subhandler({ id: "b" }, () => {});
	}`)
	task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if got := string(step.Patch); got != `{"status":{"x":{"a":1}}}` {
		t.Errorf("patch = %s", got)
	}
	for i, want := range []string{`{"status":{"x":{"b":2}},"spec":{"y":3}}`, ""} {
		child, result, err := task.Start(t.Context(), &abi.Invocation{Kind: abi.KindSub, Handler: i, ID: "fn/child", Name: "obj1"}, []byte(`{}`), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(result.Patch); got != want || result.Transforms != 1-i {
			t.Errorf("child %d: patch = %s, transforms = %d", i, got, result.Transforms)
		}
		child.Release(t.Context())
	}
}

// TestScriptsFetch: bodies on their way, as in the other languages; the text of a response is that of the server, with its spaces and all digits.
func TestScriptsFetch(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]abi.Call{
		`undefined`: {},
		`"x"`:       {Body: abi.Raw(`"x"`)},
		`{ a: 1 }`:  {Body: abi.Raw(`{"a":1}`), Headers: map[string][]string{"Content-Type": {"application/json"}}},
		`new Uint8Array([9, 255, 0, 1]).subarray(1)`: {Body: abi.Raw(`"/wAB"`), Encoding: abi.EncodingBase64},
		`new Uint8Array([255]).buffer`:               {Body: abi.Raw(`"/w=="`), Encoding: abi.EncodingBase64},
	} {
		m := scripted(t, `async function fn() { const answer = await kopf.fetch("https://a.example", { method: "PUT", body: `+body+` }); return [await answer.text(), await answer.json()]; }`)
		task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		want.Target, want.Method, want.Path, want.Verbatim = abi.TargetHTTP, "PUT", "https://a.example", true
		if got := step.Call; got == nil || len(got.Headers) != len(want.Headers) || !reflect.DeepEqual(got.Headers["Content-Type"], want.Headers["Content-Type"]) {
			t.Errorf("%s: call = %+v", body, got)
		} else if got.Headers, want.Headers = nil, nil; !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: call = %+v, want %+v", body, got, want)
		}
		step, err = task.Resume(t.Context(), abi.Answer{Response: &abi.Response{Status: 200, Body: abi.Raw(`"{ \"id\": 12345678901234567890 }"`)}})
		if err != nil || string(step.Result) != `["{ \"id\": 12345678901234567890 }",{"id":12345678901234567000}]` {
			t.Errorf("%s: step = %+v, %v", body, step, err)
		}
		task.Release(t.Context())
	}
}

// TestScriptsPostEventsAboutOthers: a handler without an object took an object without a uid for its own, and posted about nothing.
func TestScriptsPostEventsAboutOthers(t *testing.T) {
	t.Parallel()
	m := scripted(t, `function fn() { kopf.info({ apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }, { reason: "Seen" }); }`)
	env := &testEnv{}
	task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCleanup, ID: "fn", Activity: "cleanup"}, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if len(env.events) != 1 || string(env.events[0].Object) != `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}` {
		t.Errorf("events = %+v, step %+v", env.events, step)
	}
}

// TestScriptsLogAnything: what has no form in JSON is no reason to fail.
func TestScriptsLogAnything(t *testing.T) {
	t.Parallel()
	m := scripted(t, `function fn({ logger }) { const circle = {}; circle.next = circle; logger.info("seen", circle, { n: 1n }, Promise.resolve(1), 2n); return 1; }`)
	env := &testEnv{}
	task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), env)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if want := []string{"20 seen [object Object] [object Object] [object Promise] 2"}; !slices.Equal(env.logs, want) || string(step.Result) != "1" {
		t.Errorf("logs = %q, step = %+v, error %+v", env.logs, step, step.Error)
	}
}

// TestScriptsLogWhatTheyDoNotAwait: an author who forgets a word got neither the request nor an error.
func TestScriptsLogWhatTheyDoNotAwait(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		`kopf.kubernetes.delete("/api/v1/namespaces/default/pods/a");`:               "30 Handler 'fn' has not awaited 1 of its requests and waits: they are not made.",
		`(async () => { throw new TypeError("broken"); })();`:                        "40 Handler 'fn' does not await what has failed: TypeError: broken\n",
		`try { await (async () => { throw new TypeError("broken"); })(); } catch {}`: "",
	} {
		m := scripted(t, `async function fn() { `+statement+` }`)
		env := &testEnv{}
		task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{}`), env)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(env.logs, "|"); !strings.HasPrefix(got, want) || want == "" && got != "" || len(env.logs) > 1 || step.Step != abi.StepDone || step.Error != nil {
			t.Errorf("%s: logs = %q, step = %+v", statement, env.logs, step)
		}
		task.Release(t.Context())
	}
	failing := scriptOf(`function fn() {}); (async () => { throw new TypeError("broken"); })(`)
	m, err := Load(t.Context(), "op.js", engineOf(t, "javascript"), withCache(t, failing))
	if err == nil {
		_ = m.Close(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "TypeError: broken") {
		t.Errorf("error = %v", err)
	}
}

// TestScriptsAdoptApart: a change of one child is none of another one.
func TestScriptsAdoptApart(t *testing.T) {
	t.Parallel()
	m := scripted(t, `function fn() { const [a, b] = [{}, {}]; kopf.adopt([a, b]); a.metadata.ownerReferences[0].controller = false; return b.metadata.ownerReferences[0].controller; }`)
	task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{"metadata":{"name":"obj1","uid":"1"}}`), &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	if string(step.Result) != "true" {
		t.Errorf("step = %+v, error %+v", step, step.Error)
	}
}

// ownBody is an Env whose object has not changed.
type ownBody struct {
	testEnv
	body []byte
}

func (e *ownBody) Segment(uint32) []byte { return e.body }

// TestScriptsDaemonsShareInstances: a thousand that wait would take 400 MB otherwise. Each stays with its own object.
func TestScriptsDaemonsShareInstances(t *testing.T) {
	t.Parallel()
	o := scriptOf(`() => {}); let begun = 0; kopf.daemon("kopfexamples", async function daemon_fn(kwargs) {
		begun++;
		const { spec } = kwargs;
		await kwargs.stopped.wait(10);
		await kopf.sleep(10);
		return [begun, kwargs.name, kwargs.spec.of, spec.of];
	}`)
	m := loaded(t, "op.js", engineOf(t, "javascript"), o)
	var tasks []*Task
	for _, name := range []string{"a", "b", "c"} {
		body := []byte(`{"spec":{"of":"` + name + `"}}`)
		task, _, err := m.Start(t.Context(), &abi.Invocation{Handler: 1, Kind: abi.KindDaemon, ID: "daemon_fn", Name: name}, body, &ownBody{body: body})
		if err != nil {
			t.Fatal(err)
		}
		defer task.Release(t.Context())
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		if step, err := task.Resume(t.Context(), abi.Answer{}); err != nil || step.Step != abi.StepWait {
			t.Fatal(step, err)
		}
	}
	for i, want := range []string{`[3,"a","a","a"]`, `[3,"b","b","b"]`, `[3,"c","c","c"]`} {
		step, err := tasks[i].Resume(t.Context(), abi.Answer{})
		if err != nil {
			t.Fatal(err)
		}
		if string(step.Result) != want {
			t.Errorf("result = %s, error %+v, want %s", step.Result, step.Error, want)
		}
	}
}
