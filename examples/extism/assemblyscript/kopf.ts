// What an operator in AssemblyScript needs of Kopf, on top of the plugin
// development kit of Extism: the registration of handlers, and views of JSON.
// Messages: abi/SPEC.md of Kopf, "Plugins of Extism".
import { Host, LogLevel } from "@extism/as-pdk";

const QUOTE = 34, BACKSLASH = 92, OPEN = 123, CLOSE = 125, OPEN_LIST = 91, CLOSE_LIST = 93, COMMA = 44, COLON = 58;

// View is a JSON value in its text. What is not there is an empty view.
export class View {
  constructor(public raw: string) {}

  // get finds a member of an object by its key.
  get(key: string): View {
    let i = this.raw.length > 0 && this.raw.charCodeAt(0) == OPEN ? 1 : this.raw.length;
    while (i < this.raw.length) {
      i = space(this.raw, i);
      if (i >= this.raw.length || this.raw.charCodeAt(i) != QUOTE) break;
      const end = skip(this.raw, i);
      const found = new View(this.raw.substring(i, end)).text() == key;
      i = space(this.raw, space(this.raw, end) + 1); // after the colon
      const next = skip(this.raw, i);
      if (found) return new View(this.raw.substring(i, next));
      i = space(this.raw, next) + 1; // after the comma
    }
    return new View("");
  }

  exists(): bool { return this.raw.length > 0; }

  // text is the string, or the JSON text of anything else.
  text(): string {
    if (this.raw.charAt(0) != '"') return this.raw;
    let out = "";
    for (let i = 1; i < this.raw.length - 1; i++) {
      let c = this.raw.charAt(i);
      if (c == "\\") {
        c = this.raw.charAt(++i);
        if (c == "n") c = "\n";
        else if (c == "t") c = "\t";
        else if (c == "r") c = "\r";
        else if (c == "b") c = "\b";
        else if (c == "f") c = "\f";
        else if (c == "u") {
          c = String.fromCharCode(u16(parseInt(this.raw.substring(i + 1, i + 5), 16)));
          i += 4;
        }
      }
      out += c;
    }
    return out;
  }
}

function space(s: string, i: i32): i32 {
  while (i < s.length && s.charCodeAt(i) <= 32) i++;
  return i;
}

// skip is the position after the value that begins at i.
function skip(s: string, i: i32): i32 {
  let depth = 0;
  for (; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c == QUOTE) {
      for (i++; i < s.length && s.charCodeAt(i) != QUOTE; i++) if (s.charCodeAt(i) == BACKSLASH) i++;
      if (depth == 0) return i + 1;
    } else if (c == OPEN || c == OPEN_LIST) depth++;
    else if (c == CLOSE || c == CLOSE_LIST) {
      if (depth == 0) return i;
      if (--depth == 0) return i + 1;
    } else if (depth == 0 && (c == COMMA || c == COLON || c <= 32)) return i;
  }
  return i;
}

// quote is a string as JSON.
export function quote(text: string): string {
  let out = '"';
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c == 34 || c == 92) out += "\\" + text.charAt(i);
    else if (c < 32) out += "\\u00" + (c < 16 ? "0" : "") + c.toString(16);
    else out += text.charAt(i);
  }
  return out + '"';
}

// Outcome is what a handler returns: the fields of a done step, as JSON.
export class Outcome {
  result: string = "null";
  patch: string = "null";
  error: string = "null";

  // failed is an error: temporary, with the seconds until the next attempt, or permanent.
  static failed(kind: string, message: string, delay: f64 = 60): Outcome {
    const o = new Outcome();
    o.error = '{"kind":' + quote(kind) + ',"message":' + quote(message) + ',"delay":' + delay.toString() + "}";
    return o;
  }
}

// Change is the argument of a handler.
export class Change {
  constructor(public message: View) {}
  get body(): View { return this.message.get("body"); }
  get spec(): View { return this.body.get("spec"); }
  get name(): string { return this.message.get("name").text(); }
  get retry(): i32 { return i32(parseInt(this.message.get("retry").text())); }
}

export type Handler = (c: Change) => Outcome;

const declarations: string[] = [];
const handlers: Handler[] = [];

// on registers a handler: its kind, id, and resource. Options are further fields
// as JSON, like ',"retries":3'.
export function on(kind: string, id: string, resource: string, fn: Handler, options: string = ""): void {
  declarations.push('{"kind":' + quote(kind) + ',"id":' + quote(id) + ',"fn":' + quote(id) +
    ',"resource":{"args":[' + quote(resource) + "]}" + options + "}");
  handlers.push(fn);
}

export function info(text: string): void { Host.log(LogLevel.Info, text); }

export function kopf_register(): i32 {
  Host.outputString('{"sdk":"assemblyscript","handlers":[' + declarations.join(",") + "]}");
  return 0;
}

export function kopf_start(): i32 {
  const message = new View(Host.inputString());
  const fn = handlers[i32(parseInt(message.get("handler").text()))];
  const done = fn(new Change(message));
  Host.outputString('{"step":"done","result":' + done.result + ',"patch":' + done.patch + ',"error":' + done.error + "}");
  return 0;
}

// abort is called for errors of the language itself: the host shows the trap.
export function abort(_message: string | null, _file: string | null, _line: u32, _column: u32): void {
  unreachable();
}
