// Settings of the operator, in startup handlers: settings.posting.level = 30.

export class Settings {
  changes = {};

  constructor(values) {
    this.values = { ...values };
    Object.values(values).forEach(Object.freeze); // a change within a list would not reach the host
    this.view = this.#at("");
  }

  // at is a view of the settings whose dotted names begin so.
  #at(prefix) {
    return new Proxy({}, {
      get: (_, name) => {
        if (typeof name !== "string") return undefined;
        const path = prefix + name;
        return path in this.values ? this.values[path] : this.#at(path + ".");
      },
      set: (_, name, value) => {
        if (value === undefined || Number.isNaN(value)) throw new TypeError(`settings: the value of ${prefix}${name} is ${value}`); // JSON leaves it out, or has null
        this.values[prefix + name] = this.changes[prefix + name] = value;
        return true;
      },
    });
  }
}
