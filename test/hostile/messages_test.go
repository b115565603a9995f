package hostile_test

import (
	"strings"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// answered is an attack by the step of a handler.
func answered(name, step, want string) attack {
	return attack{name: name, module: answering(step), rules: watchConfigMaps, act: configMapsExist, named: []sign{says(want)}}
}

// registered is an attack by a registration.
func registered(name, registration, want string) attack {
	return attack{name: name, module: raw(func(m *rawModule) { m.registration = registration }), named: []sign{condition(api.Degraded, "ModuleRefused", want)}}
}

// messages are attacks by what modules say.
var messages = wave{"messages", []attack{
	quick(answered("JSON without an end of depth", `{"step":"done","result":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`, "exceeded max depth")),
	answered("JSON of a million members", `{"step":"done","result":{`+strings.Repeat(`"":{},`, 1_000_000)+`"":1}}`, "the limit PatchMemory of 2097152 bytes is reached"),
	answered("a result of small objects", `{"step":"done","result":[`+strings.Repeat(`{"":0},`, 100_000)+`0]}`, "the limit PatchMemory of 2097152 bytes is reached"),
	answered("a huge number", `{"step":"wait","seconds":1e999}`, "cannot unmarshal number"),
	answered("no number", `{"step":"done","result":NaN}`, "invalid character"),
	answered("not UTF-8", "{\"step\":\"done\",\"result\":\"\xff\"}", "not UTF-8"),
	answered("a patch of another object", `{"step":"done","patch":{"metadata":{"name":"other","namespace":"kube-system","uid":"00000000-0000-0000-0000-000000000000"}}}`, "the namespace of the provided object does not match"),
	answered("a patch of another kind", `{"step":"done","patch":{"apiVersion":"v1","kind":"Secret"}}`, "is invalid: patch"),
	answered("an owner in another namespace", `{"step":"done","patch":{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"../../kube-system","uid":"1"}]}}}`, "Creation is processed"),
	answered("a result that is no result", `{"step":"done","result":1,"error":{"kind":"odd"}}`, "unknown kind of an error"),
	answered("a wait into the past", `{"step":"wait","seconds":-1}`, "a wait of -1 seconds"),
	answered("a stack whose names grow", `{"step":"done","error":{"kind":"arbitrary","message":"grown","stack":"`+strings.Repeat(`_RYTTjjETB1_B1_ETB5_B5_ETBd_Bd_ETBl_Bl_ETBt_Bt_EEC0\n`, 140_000)+`"}}`, "grown"),
	registered("a registration of nothing", ``, "unexpected end of JSON"),
	registered("10,000 handlers of one id", `{"handlers":[`+strings.Repeat(`{"kind":"create","id":"fn","resource":{"args":["configmaps"]}},`, 9_999)+`{"kind":"create","id":"fn","resource":{"args":["configmaps"]}}]}`, "fn"),
	{name: "ids with control characters", module: raw(func(m *rawModule) {
		m.registration = `{"handlers":[{"kind":"create","id":"\u001b[2J\u0000../..\u202e","resource":{"args":["configmaps"]}}]}`
	}), rules: watchConfigMaps, act: configMapsExist, named: []sign{says("Merge-patching finished with inconsistencies")}},
	{name: "a resource that is a path", module: raw(func(m *rawModule) {
		m.registration = `{"handlers":[{"kind":"create","id":"fn","resource":{"args":["../../secrets?x=","v1","pods/exec"]}}]}`
	}), named: []sign{condition(api.Ready, "LoadFailed", "has a slash")}},
	{name: "100,000 handlers", module: raw(func(m *rawModule) { m.registration = manyHandlers(100_000) }), named: []sign{condition(api.Degraded, "ModuleRefused", "")}},
}}

// quick makes an attack a part of the short form.
func quick(at attack) attack {
	at.quick = true
	return at
}
