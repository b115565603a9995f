// Handlers that are called for some objects only: by labels, annotations, fields and functions.

const called = () => "called";
const on = (/** @type {string} */ id, /** @type {kopf.FilterOptions} */ filters) => kopf.on.create("kopfexamples", { id, ...filters }, called);

on("label_equals", { labels: { owner: "us" } });
on("label_is_present", { labels: { owner: kopf.PRESENT } });
on("label_is_absent", { labels: { unknown: kopf.ABSENT } });
on("label_is_ours", { labels: { owner: (value, { spec }) => value === "us" && "field" in spec } });
on("annotation_is_theirs", { annotations: { owner: (value) => value === "them" } });
on("annotations_fit", { annotations: { owner: kopf.PRESENT, unknown: kopf.ABSENT } });
on("functions_agree", { when: ({ name, spec }) => name?.startsWith("kopf-") && !("off" in spec) });
on("function_disagrees", { when: () => false });
on("field_equals", { field: "spec.field", value: "value" });
on("field_differs", { field: "spec.field", value: "other" });
on("field_is_present", { field: "spec.unknown", value: kopf.PRESENT });

kopf.on.update("kopfexamples", { id: "change_fits", field: "spec.field", old: "value", new: "changed" }, called);

kopf.daemon("kopfexamples", { field: "spec.field", value: "value" }, async function accompanies({ stopped, logger }) {
  while (!(await stopped.wait(1))) logger.info("the field still has its value");
});
