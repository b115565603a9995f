// Uses that the types refuse, one in a line, with a part of what the compiler says.

kopf.on.create("x", { interval: 5 }, () => undefined); // 'interval' does not exist in type 'CreateOptions'
kopf.on.create("x", { retires: 3 }, () => undefined); // Did you mean to write 'retries'?
kopf.on.create("x", { retries: "3" }, () => undefined); // Type 'string' is not assignable to type 'number'
kopf.on.create("x", { errors: "NEVER" }, () => undefined); // Type '"NEVER"' is not assignable
kopf.on.create("x", ({ sepc }) => sepc); // Property 'sepc' does not exist on type 'Change<any>'
kopf.on.create("x", { when: async () => true }, () => undefined); // Type 'Promise<boolean>' is not assignable to type 'Truth'
kopf.on.create(() => undefined); // Expected
kopf.on.created("x", () => undefined); // Property 'created' does not exist
kopf.on.delete("apps", "v1", "x", { deleted: true }, () => undefined); // 'deleted' does not exist in type 'DeleteOptions'
kopf.on.event("x", ({ old }) => old); // Property 'old' does not exist on type 'Event<any>'
kopf.on.field("x", () => undefined); // not assignable to parameter of type 'FieldOptions & SelectorOptions'
kopf.on.validate("x", { operations: ["READ"] }, () => undefined); // Type '"READ"' is not assignable to type 'Operation'
kopf.on.mutate("x", { retries: 1 }, () => undefined); // 'retries' does not exist in type 'ReviewOptions'
kopf.on.convert("x", { from: "v1" }, ({ body }) => body); // Property 'to' is missing
kopf.on.convert("x", { from: "v1", to: "v2" }, () => undefined); // Type 'undefined' is not assignable
kopf.on.startup("x", () => undefined); // has no properties in common with type 'ActivityOptions'
kopf.on.startup({ field: "spec" }, () => undefined); // 'field' does not exist in type 'ActivityOptions'
kopf.on.login(() => ({ user: "x" })); // Type '{ user: string; }' is not assignable to type
kopf.timer("x", { interval: "5s" }, () => undefined); // Type 'string' is not assignable to type 'number'
kopf.daemon("x", async ({ stopped }) => { await stopped.wait("1s"); }); // not assignable to parameter of type 'number'
kopf.index("x", ({ patch }) => patch); // Property 'patch' does not exist on type 'Indexed<any>'
kopf.operator({ lifecycle: "fast" }); // Type '"fast"' is not assignable
kopf.wants({ kubernetes: [{ verbs: ["get"] }] }); // missing the following properties
kopf.info(undefined, { message: "x" }); // Property 'reason' is missing
kopf.sleep("1"); // not assignable to parameter of type 'number'
kopf.adopt({}, { forcd: true }); // Did you mean to write 'forced'?
throw new kopf.RequestError(); // Constructor of class 'RequestError' is private
