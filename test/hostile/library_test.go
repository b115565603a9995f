package hostile_test

// library are attacks by what only scripts can do: on the library that runs them, on its promises and on its values.
var library = wave{"library", []attack{
	quick(attack{name: "a result that resolves to itself", script: on(`const t = { then(resolve) { resolve(t); } }; return t;`), count: 1, named: []sign{says("computed too long")}}),
	{name: "an error that computes when it is read", script: on(`throw new Proxy(new Error("x"), { get() { for (;;) {} }, getPrototypeOf() { for (;;) {} } });`), count: 1, named: []sign{says("computed too long")}},
	{name: "an error that cannot be read", script: on(`throw new Proxy(new Error("x"), { get() { throw this; }, getPrototypeOf() { throw this; } });`), count: 1, named: []sign{says("the error of the handler cannot be read")}},
	{name: "a result that computes when it is encoded", script: on(`return { toJSON() { for (;;) {} } };`), count: 1, named: []sign{says("computed too long")}},
	{name: "a result that is nested without an end", script: on(`let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a;`), count: 1, named: []sign{says("Handler 'fn' failed")}},
	{name: "a result of accessors that grow", script: on(`const more = () => new Proxy({}, { ownKeys: () => ["a", "b"], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (_, key) => key === "toJSON" ? undefined : more() }); return more();`), count: 1, named: []sign{says("Handler 'fn' failed")}},
	{name: "another JSON within a handler", script: on(`JSON.stringify = () => '{"step":"wait","seconds":-1e999}';`), count: 1, named: []sign{says("Handler 'fn' failed")}},
	{name: "other methods for the library", script: on(`Array.prototype.map = Map.prototype.get = Promise.prototype.then = () => { for (;;) {} }; k.warnings.push("x");`), count: 1, named: []sign{says("computed too long")}},
	{name: "an index of too many keys", script: `kopf.index("kopfexamples", function all() { const o = {}; for (let i = 0; i < 50_000; i++) o[i] = 0; return o; });`, count: 1, named: []sign{limit("PatchMemory")}},
	{name: "buffers of gigabytes", script: on(`new ArrayBuffer(2 ** 31 - 1);`), count: 1, named: []sign{says("Handler 'fn' failed")}},
	{name: "texts of gigabytes", script: on(`let s = "x"; for (;;) s += s;`), count: 1, named: []sign{says("Handler 'fn' failed")}},
	answered("a delay beyond all time", `{"step":"done","error":{"kind":"temporary","message":"again","delay":1e308}}`, "again"),
	answered("a delay before all time", `{"step":"done","error":{"kind":"temporary","message":"again","delay":-1e308}}`, "again"),
}}
