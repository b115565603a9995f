// Requests that the host makes, as far as they are granted.

import { known } from "kopf/declarations";
import { APIError, RequestError } from "kopf/errors";
import { here } from "kopf/tasks";

async function call(request) {
  const { response, error } = await here().wish({ step: "call", call: request });
  if (error) throw new RequestError(error);
  if (!response) throw new RequestError({ message: "the handler is cancelled", type: "Cancelled", kind: "arbitrary" });
  return response;
}

async function ask(method, path, { body, headers, timeout, ...others } = {}) {
  known("kopf.kubernetes", others, []);
  const listed = Object.entries(headers ?? {}).map(([name, value]) => [name, [value]]);
  const response = await call({ target: "kubernetes", method, path, body, timeout, headers: Object.fromEntries(listed) });
  if (response.status >= 400) throw new APIError(response);
  return response.body;
}

const PATCHES = { merge: "application/merge-patch+json", json: "application/json-patch+json", strategic: "application/strategic-merge-patch+json" };

// kubernetes makes requests to the API server, by paths of resources. Responses that
// say no are thrown as an APIError.
export const kubernetes = Object.freeze({
  request: ask,
  get: (path) => ask("GET", path),
  create: (path, body) => ask("POST", path, { body }),
  replace: (path, body) => ask("PUT", path, { body }),
  delete: (path, body) => ask("DELETE", path, { body }),
  patch: (path, body, type = "merge") => ask("PATCH", path, { body, headers: { "Content-Type": PATCHES[type] ?? type } }),

  // apply is a server-side apply. Unless a field manager is named, the operator is it.
  apply: (path, body, { fieldManager, force = false, ...others } = {}) => {
    known("kopf.kubernetes.apply", others, []);
    const manager = fieldManager === undefined ? "" : `&fieldManager=${encodeURIComponent(fieldManager)}`;
    const query = `force=${Boolean(force)}${manager}`;
    const to = `${path}${path.includes("?") ? "&" : "?"}${query}`;
    return ask("PATCH", to, { body, headers: { "Content-Type": "application/apply-patch+yaml" } });
  },
});

// sent is a body as a message has it, and its type if it has one by itself.
function sent(body) {
  if (body === undefined || body === null) return [{}];
  if (typeof body === "string") return [{ body }];
  if (body instanceof ArrayBuffer) return sent(new Uint8Array(body));
  if (ArrayBuffer.isView(body)) return [{ body: new Uint8Array(body.buffer, body.byteOffset, body.byteLength).toBase64(), encoding: "base64" }];
  return [{ body }, "application/json"];
}

// fetch makes a request to any other server: a part of what browsers have.
export async function fetch(url, { method = "GET", headers = {}, body, timeout } = {}) {
  const listed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [].concat(value)]));
  const [content, type] = sent(body);
  if (type && !Object.keys(listed).some((name) => name.toLowerCase() === "content-type")) listed["Content-Type"] = [type];
  const response = await call({ target: "http", method, path: String(url), headers: listed, ...content, timeout, verbatim: true });
  const values = new Map(Object.entries(response.headers ?? {}).map(([name, list]) => [name.toLowerCase(), list]));
  const text = response.body ?? "";
  return {
    status: response.status,
    ok: response.status >= 200 && response.status < 300,
    headers: { get: (name) => values.get(name.toLowerCase())?.join(", ") ?? null },
    encoding: response.encoding, // base64 for a body that is not text
    text: async () => text,
    json: async () => (text === "" ? undefined : JSON.parse(text)),
  };
}
globalThis.fetch = fetch;
