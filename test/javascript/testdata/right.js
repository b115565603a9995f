// Uses that the types allow.

import library from "kopf";

kopf.on.create("kopfexamples", () => undefined);
kopf.on.create("kopf.dev", "kopfexamples", async ({ spec }) => spec.anything);
kopf.on.create("kopf.dev", "v1", kopf.EVERYTHING, { id: "all" }, ({ name, new: now }) => `${name} ${now}`);
kopf.on.create((resource) => resource.group === "kopf.dev", () => undefined);
kopf.on.create({ kind: "KopfExample", retries: 3 }, () => undefined);
kopf.on.create("kopfexamples", { version: "v1", retries: 3 }, () => undefined);
kopf.on.update("x", { labels: { a: kopf.PRESENT, b: (value) => value > 1, c: kopf.not((value) => value === "x") } }, () => undefined);
kopf.on.update("x", { field: ["metadata", "labels", "a.b/c"], old: kopf.ABSENT, new: { a: [1, null] } }, () => undefined);
kopf.on.update("x", { when: kopf.all([({ name }) => name, ({ spec }) => spec.size > 1]) }, () => undefined);
kopf.daemon("x", { initialDelay: ({ spec }) => spec.delay, cancellation_timeout: 5 }, async ({ stopped, memo }) => {
  while (!(await stopped.wait(1))) memo.update("rounds", (rounds) => (rounds ?? 0) + 1);
});
kopf.on.create("x", ({ indices }) => [...indices.by_name].map(([key, values]) => [key, values.length]));
kopf.on.login(({ logins }) => (logins.length > 0 ? { login: logins[0] } : null));
library.on.startup(async ({ settings, logger }) => {
  settings.posting.level = 30;
  const response = await fetch("https://example.com/", { headers: { Accept: ["a", "b"] } });
  logger.info(await response.text());
});

/** A handler with a spec of a type: @typedef {{ size: number, zones?: string[] }} Volume */

/** @param {kopf.Change<Volume>} change */
async function provision({ spec, patch }) {
  try {
    const secret = await kopf.kubernetes.get("/api/v1/namespaces/default/secrets/a");
    patch.status.user = atob(secret.data.user);
  } catch (error) {
    if (error instanceof kopf.APIError && error.status === 404) throw new kopf.TemporaryError("later", null);
    throw error;
  }
  patch.status.zones = (spec.zones ?? []).map((zone) => zone.toUpperCase()).slice(0, spec.size);
  await kopf.execute({ a: () => undefined, b: async ({ logger }) => logger.info("b") });
}
kopf.on.create("volumes", provision);
kopf.on.resume("volumes", { deleted: true }, provision);
