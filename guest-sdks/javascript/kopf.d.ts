// Types of what scripts see: for editors, and for `tsc --checkJs`. Scripts run without this file.
//
// Put it next to operator.js, and refer to it in the first line of the script:
//
//     /// <reference path="./kopf.d.ts" />
//
// The manual: docs/scripts.md, "Types for editors".

/** Handlers, errors, and everything else of the library. `import kopf from "kopf"` is the same. */
declare namespace kopf {
  /** What JSON can say. */
  type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

  /** What decides: anything but a promise, as filters cannot wait. */
  type Truth = boolean | number | string | null | undefined;

  /** A handler: its result, or a promise of it. */
  type Handler<K, R = unknown> = { handle(kwargs: K): R | Promise<R> }["handle"];

  // ---- Objects -------------------------------------------------------------------------------

  /** The metadata of an object. */
  interface Meta {
    name: string;
    namespace?: string;
    uid: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    generation?: number;
    resourceVersion?: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    finalizers?: string[];
    [field: string]: any;
  }

  /** An object. `S` is the type of its spec. */
  interface Body<S = any> {
    apiVersion: string;
    kind: string;
    metadata: Meta;
    spec: S;
    status?: any;
    [field: string]: any;
  }

  /** A resource of the API. */
  interface Resource {
    group: string;
    version: string;
    plural: string;
    kind?: string;
    singular?: string;
    shortcuts?: string[];
    categories?: string[];
    subresources?: string[];
    namespaced: boolean;
    preferred: boolean;
    verbs?: string[];
  }

  /** One difference: `add`, `change` or `remove`; the path of the field; the old and the new value. */
  type DiffItem = [op: "add" | "change" | "remove", path: string[], old: any, now: any];

  // ---- Arguments of handlers -----------------------------------------------------------------

  /** What every handler gets. */
  interface Call {
    /** The id of the handler, in full: `fn`, `fn/spec.field`, `parent/child`. */
    readonly id: string;
    /** The option `param` of the registration; null by default. */
    readonly param: any;
    /** 0 at the first attempt. */
    readonly retry: number;
    /** The time of the first attempt. */
    readonly started: Date;
    /** Seconds since the first attempt. */
    readonly runtime: number;
    readonly logger: Logger;
    /** The memo of the object, or that of the operator if there is no object. */
    readonly memo: Memo;
    /** The indices of the operator by their names. They are arguments of their own, too. */
    readonly indices: Record<string, Index>;
  }

  /** What handlers get of the object that they are called for. */
  interface Thing<S = any> extends Call {
    readonly body: Body<S>;
    readonly spec: S;
    readonly status: any;
    readonly meta: Meta;
    readonly labels: Record<string, string>;
    readonly annotations: Record<string, string>;
    readonly name: string;
    readonly namespace: string | null;
    readonly uid: string;
    readonly resource: Resource;
  }

  /** The argument of handlers of creation, updates, deletion, resuming and fields, and of sub-handlers. */
  interface Change<S = any> extends Thing<S> {
    /** What happened: `create`, `update`, `delete`, `resume`. */
    readonly reason: string;
    /** The last handled state, or the value of the field before. */
    readonly old: any;
    /** The current state, or the value of the field. Rename it: `({ new: now })`. */
    readonly new: any;
    readonly diff: DiffItem[];
    patch: Patch;
  }

  /** The argument of handlers of raw events. */
  interface Event<S = any> extends Thing<S> {
    /** `ADDED`, `MODIFIED`, `DELETED`; null in the initial listing. */
    readonly type: "ADDED" | "MODIFIED" | "DELETED" | null;
    /** The event, with `type` and `object`. */
    readonly event: { type: string | null; object: Body<S> };
    patch: Patch;
  }

  /** The argument of timers. The body is the newest one each time it is looked at. */
  interface Timer<S = any> extends Thing<S> {
    patch: Patch;
  }

  /** The argument of daemons. The body is the newest one each time it is looked at. */
  interface Daemon<S = any> extends Thing<S> {
    readonly stopped: Stopped;
    patch: Patch;
  }

  /** The argument of functions that fill an index. */
  interface Indexed<S = any> extends Thing<S> {}

  /** The argument of admission handlers. */
  interface Review<S = any> extends Thing<S> {
    readonly operation: Operation;
    /** The object before, in updates and deletions. */
    readonly old: any;
    /** The object after, in creations and updates. */
    readonly new: any;
    readonly diff: DiffItem[];
    readonly subresource: string | null;
    /** There must be no side effects. */
    readonly dryrun: boolean;
    readonly userinfo: { username: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
    readonly headers: Record<string, string[]>;
    /** The certificate of the client, if there is one. */
    readonly sslpeer: any;
    /** Messages for the user: add yours. */
    readonly warnings: string[];
    /** Changes of the object before it is stored, by mutating handlers. */
    patch: Patch;
  }

  /** The argument of handlers of conversions. They return the whole object in the other version. */
  interface Conversion<S = any> extends Call {
    readonly body: Body<S>;
    readonly spec: S;
    readonly status: any;
    readonly meta: Meta;
    readonly labels: Record<string, string>;
    readonly annotations: Record<string, string>;
    readonly name: string | undefined;
    readonly namespace: string | null;
    /** The versions, without the group. */
    readonly conversion: { from: string; to: string };
  }

  /** The argument of handlers of startup, cleanup and probes. */
  interface Activity extends Call {
    /** `startup`, `cleanup`, `authentication`, `probe`. */
    readonly activity: string;
    /** The settings of the operator. Startup handlers may change them: `settings.posting.level = 30`. */
    readonly settings: any;
  }

  /** The argument of login handlers. */
  interface Login extends Activity {
    /** The names of the host's own credentials: `{ login: logins[0] }` is a result. */
    readonly logins: string[];
  }

  /** The argument of filters: the object, and what happened to it. */
  type Cause<S = any> = Thing<S> & Partial<Pick<Change<S>, "old" | "new" | "diff" | "reason">> &
    Partial<Pick<Event<S>, "type" | "event">> &
    Partial<Pick<Review<S>, "operation" | "subresource" | "dryrun" | "userinfo" | "headers" | "sslpeer">>;

  /** The result of login handlers: the host's own credentials by `login`, or data. */
  interface ConnectionInfo {
    login?: string;
    priority?: number;
    default_namespace?: string;
    expiration?: string;
    server?: string;
    proxy_url?: string;
    ca_data?: string;
    insecure?: boolean;
    username?: string;
    password?: string;
    scheme?: string;
    token?: string;
    certificate_data?: string;
    private_key_data?: string;
  }

  /** Changes of the handled object: `patch.status.x = 1`, `patch.labels["a/b"] = null`. */
  interface Patch {
    spec: any;
    status: any;
    metadata: any;
    meta: any;
    labels: any;
    annotations: any;
    /** Merges values into the patch. */
    merge(values: object): void;
    /** Adds a function that changes the object in place, or returns another whole object. It is called again after a conflict, and cannot be async. */
    edit(fn: (body: any) => unknown): void;
    [field: string]: any;
  }

  /** The log of the object, or of the operator. */
  interface Logger {
    log(level: number, ...values: unknown[]): void;
    debug(...values: unknown[]): void;
    info(...values: unknown[]): void;
    warning(...values: unknown[]): void;
    warn(...values: unknown[]): void;
    error(...values: unknown[]): void;
    exception(...values: unknown[]): void;
    critical(...values: unknown[]): void;
  }

  /** Values by keys that the host keeps: of an object, or of the operator. */
  interface Memo {
    /** The value of a key; undefined if there is none. */
    get(key: string): any;
    set(key: string, value: unknown): void;
    delete(key: string): void;
    /** Changes a value by a function of the old one, and returns the new one. */
    update<T>(key: string, fn: (old: any) => T): T;
  }

  /** An index of the operator. It iterates over keys with their values. */
  interface Index extends Iterable<[key: any, values: any[]]> {
    get(key: unknown): any[];
    keys(): any[];
    has(key: unknown): boolean;
    readonly size: number;
  }

  /** Whether a daemon is to stop. */
  interface Stopped {
    (): boolean;
    /** Waits until the daemon is to stop, or for seconds: true if it is to stop. */
    wait(seconds?: number): Promise<boolean>;
    /** Why it is to stop; empty if it is not to. */
    reasons(): string[];
  }

  // ---- Options of handlers -------------------------------------------------------------------

  type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

  /** A filter by presence: `kopf.PRESENT`, `kopf.ABSENT`. */
  interface Marker {
    readonly $: "PRESENT" | "ABSENT";
  }

  /** A filter: a value, a marker, or a function of the value and the cause. */
  type Filter<V = JSONValue> = V | Marker | ((value: any, kwargs: Cause) => Truth);

  /** Options of all handlers. */
  interface Options {
    /** By default the name of the function. */
    id?: string;
    /** Given back to the handler as `param`. */
    param?: unknown;
  }

  /** Options of handlers that are retried. */
  interface AttemptOptions extends Options {
    /** What other errors mean than those of kopf: `TEMPORARY` by default, `IGNORED` for indices. */
    errors?: "TEMPORARY" | "PERMANENT" | "IGNORED";
    /** Seconds since the first attempt after which the handler fails. */
    timeout?: number;
    /** Attempts, the first one included, after which the handler fails. */
    retries?: number;
    /** Seconds until the next attempt after other errors: 60 by default. */
    backoff?: number;
  }

  /** Options that choose objects. */
  interface FilterOptions extends Options {
    labels?: Record<string, Filter<string>>;
    annotations?: Record<string, Filter<string>>;
    when?: (kwargs: Cause) => Truth;
    /** With dots, or a list of its keys. */
    field?: string | string[];
    value?: Filter;
  }

  /** The resource, among the options instead of before them. */
  interface SelectorOptions {
    /** An empty one is the core API. */
    group?: string;
    version?: string;
    kind?: string;
    plural?: string;
    singular?: string;
    shortcut?: string;
    category?: string;
  }

  interface CreateOptions extends AttemptOptions, FilterOptions {}

  interface UpdateOptions extends AttemptOptions, FilterOptions {
    /** A filter by the value of the field before the change. */
    old?: Filter;
    /** A filter by the value of the field after the change. */
    new?: Filter;
  }

  interface FieldOptions extends UpdateOptions {
    field: string | string[];
  }

  interface DeleteOptions extends AttemptOptions, FilterOptions {
    /** The handler adds no finalizer, so it can miss deletions. */
    optional?: boolean;
  }

  interface ResumeOptions extends AttemptOptions, FilterOptions {
    /** Objects that are being deleted, too. */
    deleted?: boolean;
  }

  interface EventOptions extends FilterOptions {}

  interface IndexOptions extends AttemptOptions, FilterOptions {}

  /** Options of timers and daemons. */
  interface DelayOptions extends AttemptOptions, FilterOptions {
    /** Seconds before the first call. */
    initial_delay?: number | ((kwargs: Cause) => number);
    initialDelay?: number | ((kwargs: Cause) => number);
  }

  interface TimerOptions extends DelayOptions {
    /** Seconds between two calls. */
    interval?: number;
    /** Counts the interval from the start of a call, not from its end. */
    sharp?: boolean;
    /** Seconds without changes of the object before a call. */
    idle?: number;
  }

  interface DaemonOptions extends DelayOptions {
    /** Seconds between the request to stop and the cancellation. */
    cancellation_backoff?: number;
    cancellationBackoff?: number;
    /** Seconds after which a cancelled daemon is abandoned. */
    cancellation_timeout?: number;
    cancellationTimeout?: number;
    /** Seconds between two checks of a daemon without a timeout. */
    cancellation_polling?: number;
    cancellationPolling?: number;
  }

  interface ReviewOptions extends FilterOptions {
    /** All by default. */
    operations?: Operation[];
    /** One of them. */
    operation?: Operation;
    /** A subresource, or `*` for all. */
    subresource?: string;
    /** Keeps the webhook when the operator ends. */
    persistent?: boolean;
    /** The handler has effects other than its answer. */
    side_effects?: boolean;
    sideEffects?: boolean;
    /** Lets requests through if the handler cannot be reached. */
    ignore_failures?: boolean;
    ignoreFailures?: boolean;
  }

  interface ConvertOptions extends Options {
    /** The versions, without the group. */
    from: string;
    to: string;
  }

  interface ActivityOptions extends AttemptOptions {}

  interface SubOptions extends UpdateOptions {}

  // ---- Registration --------------------------------------------------------------------------

  /** `kopf.EVERYTHING`: all resources, or all of a group. */
  interface Everything {
    readonly $: "EVERYTHING";
  }

  /** The name of a resource, as in `kopfexamples`, `pods.v1`, `deployments.apps`. */
  type Target = string | Everything;

  /** A function that selects resources. */
  type Selects = (resource: Resource) => Truth;

  /** Registers a handler of a resource, and returns it. */
  interface Registration<K, O, R = unknown> extends StrictRegistration<K, O, R> {
    (group: string, version: string, resource: Target, fn: Handler<K, R>): Handler<K, R>;
    (group: string, resource: Target, fn: Handler<K, R>): Handler<K, R>;
    (resource: Target | Selects, fn: Handler<K, R>): Handler<K, R>;
  }

  /** Registers a handler that has a required option. */
  interface StrictRegistration<K, O, R = unknown> {
    (group: string, version: string, resource: Target, options: O, fn: Handler<K, R>): Handler<K, R>;
    (group: string, resource: Target, options: O, fn: Handler<K, R>): Handler<K, R>;
    (options: O & SelectorOptions, fn: Handler<K, R>): Handler<K, R>;
    (resource: Target | Selects, options: O & Pick<SelectorOptions, "group" | "version">, fn: Handler<K, R>): Handler<K, R>;
    (resource: Target | Selects, options: O, fn: Handler<K, R>): Handler<K, R>; // the last one: errors are about it
  }

  /** Registers a handler that belongs to no object, and returns it. */
  interface ActivityRegistration<K, R = unknown> {
    (fn: Handler<K, R>): Handler<K, R>;
    (options: ActivityOptions, fn: Handler<K, R>): Handler<K, R>;
  }

  const on: {
    /** New objects. The result is stored in the status, under the id of the handler. */
    readonly create: Registration<Change, CreateOptions>;
    /** Objects that were changed. */
    readonly update: Registration<Change, UpdateOptions>;
    /** Objects that are being deleted. They stay until the handler has succeeded or failed for good. */
    readonly delete: Registration<Change, DeleteOptions>;
    /** Objects that exist when the operator starts. */
    readonly resume: Registration<Change, ResumeOptions>;
    /** One field that appears, changes or disappears. */
    readonly field: StrictRegistration<Change, FieldOptions>;
    /** All events, as they come. Errors are logged and ignored. */
    readonly event: Registration<Event, EventOptions>;
    /** Allows changes of objects, or throws. */
    readonly validate: Registration<Review, ReviewOptions>;
    /** Changes objects before they are stored. */
    readonly mutate: Registration<Review, ReviewOptions>;
    /** Converts objects from one version of the resource to another one. */
    readonly convert: StrictRegistration<Conversion, ConvertOptions, object>;
    /** Before everything else. If it fails, the operator does not start. */
    readonly startup: ActivityRegistration<Activity>;
    /** After everything else. */
    readonly cleanup: ActivityRegistration<Activity>;
    /** Credentials for the cluster. */
    readonly login: ActivityRegistration<Login, ConnectionInfo | null | undefined>;
    /** A value for the liveness endpoint. */
    readonly probe: ActivityRegistration<Activity>;
  };

  /** Called again and again while an object exists. */
  const timer: Registration<Timer, TimerOptions>;
  /** Runs as long as an object exists. */
  const daemon: Registration<Daemon, DaemonOptions>;
  /** The values of an object in an index: an object or a `Map` of keys, or one value. */
  const index: Registration<Indexed, IndexOptions>;

  /** Declares a sub-handler of the running handler. */
  function subhandler(fn: Handler<Change>): Handler<Change>;
  function subhandler(options: SubOptions, fn: Handler<Change>): Handler<Change>;

  /** Runs sub-handlers now: functions by their ids, a list, or those that were declared. */
  function execute(fns?: Record<string, Handler<Change>> | Handler<Change>[]): Promise<void>;

  /** Waits for seconds. It throws a `CancelledError` if the handler is to end. */
  function sleep(seconds: number): Promise<void>;

  /** Facts about the operator, for logs and listings; and the order of handlers. */
  function operator(facts: {
    name?: string;
    version?: string;
    lifecycle?: "asap" | "one_by_one" | "all_at_once" | "randomized" | "shuffled";
  }): void;

  /** The rights that the operator needs. The administrator grants them. Several calls add up. */
  function wants(rights: {
    kubernetes?: { groups: string[]; resources: string[]; verbs: string[]; namespaces?: string[] }[];
    http?: string[];
    config?: string[];
  }): void;

  // ---- Filters -------------------------------------------------------------------------------

  /** There is some value. */
  const PRESENT: Marker;
  /** There is no value. */
  const ABSENT: Marker;
  const EVERYTHING: Everything;
  function not<A extends any[]>(fn: (...args: A) => Truth): (...args: A) => boolean;
  function all<A extends any[]>(fns: ((...args: A) => Truth)[]): (...args: A) => boolean;
  function any<A extends any[]>(fns: ((...args: A) => Truth)[]): (...args: A) => boolean;
  function none<A extends any[]>(fns: ((...args: A) => Truth)[]): (...args: A) => boolean;

  // ---- Errors --------------------------------------------------------------------------------

  /** The handler is called again: after 60 seconds, or after the delay in seconds; null is at once. */
  class TemporaryError extends Error {
    constructor(message?: string, delay?: number | null | { delay?: number | null; cause?: unknown });
    delay: number | null | undefined;
  }
  /** The handler fails, and is not called again for this cause. */
  class PermanentError extends Error {}
  /** Refuses a review, with a status of HTTP: 500 by default. */
  class AdmissionError extends Error {
    constructor(message?: string, code?: number | { code?: number; cause?: unknown });
    code: number;
  }
  /** The handler is to end. */
  class CancelledError extends Error {}
  /** A request without a response. */
  class RequestError extends Error {
    private constructor();
    /** One of the codes of the ABI: `NotGranted`, `Timeout`, and others. */
    code: string;
    kind: string;
  }
  /** A response of the API server that refuses the request. */
  class APIError extends Error {
    private constructor();
    status: number;
    /** As in `NotFound`, `AlreadyExists`, `Conflict`. */
    reason: string;
    body: any;
  }

  // ---- Events --------------------------------------------------------------------------------

  /** The object that an event is about: its body. Undefined is the handled object. */
  type About = { apiVersion?: string; kind?: string; metadata?: any; [field: string]: any } | undefined;

  /** Seconds between the attempts to post, instead of the setting posting.default_backoffs; none of them is one attempt. */
  type Backoffs = number | number[];

  function event(about: About, event: { type: string; reason: string; message?: string; backoffs?: Backoffs }): void;
  function info(about: About, event: { reason: string; message?: string; backoffs?: Backoffs }): void;
  function warn(about: About, event: { reason: string; message?: string; backoffs?: Backoffs }): void;
  /** Without a reason, the name of the error is the reason. */
  function exception(about: About, event: { reason?: string; message?: string; error?: unknown; backoffs?: Backoffs }): void;

  // ---- Stores --------------------------------------------------------------------------------

  /** A value of the configuration, secrets included. At the top level there are no secrets yet. */
  function config(key: string): string | undefined;
  /** The memo of the operator. */
  const memo: Memo;

  // ---- Requests ------------------------------------------------------------------------------

  interface RequestOptions {
    body?: unknown;
    headers?: Record<string, string>;
    /** Seconds. */
    timeout?: number;
  }

  /** Requests to the API server, by paths. A refusal is thrown as an `APIError`. */
  const kubernetes: {
    request(method: string, path: string, options?: RequestOptions): Promise<any>;
    get(path: string): Promise<any>;
    create(path: string, body: object): Promise<any>;
    replace(path: string, body: object): Promise<any>;
    delete(path: string, body?: object): Promise<any>;
    /** The type is `merge` by default. */
    patch(path: string, body: object, type?: "merge" | "json" | "strategic" | (string & {})): Promise<any>;
    /** A server-side apply. */
    apply(path: string, body: object, options?: { fieldManager?: string; force?: boolean }): Promise<any>;
  };

  interface FetchOptions {
    method?: string;
    headers?: Record<string, string | string[]>;
    /** Texts and bytes are sent unchanged, all else as JSON. */
    body?: unknown;
    /** Seconds. */
    timeout?: number;
  }

  interface Response {
    status: number;
    /** The status is 2xx. */
    ok: boolean;
    headers: { get(name: string): string | null };
    /** `base64` for a body that is no text. */
    encoding?: string;
    /** The body as the server has sent it. */
    text(): Promise<string>;
    json(): Promise<any>;
  }

  /** A request to another server. A request without a response is thrown as a `RequestError`. */
  function fetch(url: string, options?: FetchOptions): Promise<Response>;

  // ---- Hierarchies ---------------------------------------------------------------------------

  /** One object, or several. */
  type Objects = object | object[];

  interface OwnerOptions {
    /** A body; by default that of the handled object. */
    owner?: object;
    /** Null leaves the flag out. */
    controller?: boolean | null;
    blockOwnerDeletion?: boolean | null;
  }

  interface NamingOptions {
    owner?: object;
    name?: string;
    /** Replaces names that are there. */
    forced?: boolean;
    /** The name of the owner itself, without a suffix. */
    strict?: boolean;
  }

  interface NamespaceOptions {
    owner?: object;
    namespace?: string | null;
    forced?: boolean;
  }

  interface LabelOptions {
    owner?: object;
    labels?: Record<string, string>;
    forced?: boolean;
    /** Paths of templates that get the labels, too: with dots, or lists of keys. */
    nested?: string | (string | string[])[];
  }

  /** Makes objects children of the handled object: references, names, namespace, and labels. */
  function adopt(objs: Objects, options?: OwnerOptions & NamingOptions & NamespaceOptions & LabelOptions): void;
  function appendOwnerReference(objs: Objects, options?: OwnerOptions): void;
  function removeOwnerReference(objs: Objects, options?: OwnerOptions): void;
  function label(objs: Objects, labels?: Record<string, string>, options?: LabelOptions): void;
  function harmonizeNaming(objs: Objects, options?: NamingOptions): void;
  function adjustNamespace(objs: Objects, options?: NamespaceOptions): void;
}

declare module "kopf" {
  const library: typeof kopf;
  export default library;
}

/** The same as `kopf.fetch`. */
declare function fetch(url: string, options?: kopf.FetchOptions): Promise<kopf.Response>;

/** Decodes base64, as in the data of a Secret, to a text with a character for each byte. */
declare function atob(data: string): string;

/** Encodes a text with a character for each byte in base64. */
declare function btoa(text: string): string;

/** Writes to the standard output. */
declare function print(...values: unknown[]): void;

interface Console {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

/** The log of the object, or of the operator. */
declare var console: Console;
