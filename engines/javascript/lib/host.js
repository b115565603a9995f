// The functions of the host, which the engine has put into a global object. Scripts do
// not get it: what they are to use has a form of its own.

export const host = globalThis.host;
delete globalThis.host;
