// CPython as a guest of the ABI: the exports of abi/SPEC.md, the host functions as the
// Python module _kopf, and the frozen library. lib/README.md is the contract with the
// package kopf, which does everything else.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Tables of frozen modules, made by freeze.py.
extern const struct _frozen stdlib_table[], lib_table[];
extern const size_t stdlib_count, lib_count;

#define FROM_HOST(name) __attribute__((import_module("kopf"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name), visibility("default")))

enum { CRITICAL = 50, TAG_ANSWER = 8 };

// --- host functions ---

FROM_HOST("log") void host_log(int32_t task, int32_t level, const char *text, int32_t size);
FROM_HOST("segment") int64_t host_segment(int32_t task, int32_t tag, char *out, int32_t cap);
FROM_HOST("stopped") int32_t host_stopped(int32_t task);
FROM_HOST("config") int64_t host_config(const char *key, int32_t key_size, char *out, int32_t cap);
FROM_HOST("event") int32_t host_event(int32_t task, const char *event, int32_t size);
FROM_HOST("memo_get") int64_t host_memo_get(int32_t task, int32_t scope, const char *key, int32_t key_size, char *out, int32_t cap);
FROM_HOST("memo_set") int64_t host_memo_set(int32_t task, int32_t scope, const char *key, int32_t key_size, const char *value, int32_t size, int64_t version);
FROM_HOST("index") int64_t host_index(int32_t task, int32_t op, const char *name, int32_t name_size, const char *key, int32_t key_size, char *out, int32_t cap);
FROM_HOST("file") int64_t host_file(const char *path, int32_t path_size, char *out, int32_t cap);
FROM_HOST("call") int64_t host_call(int32_t task, const char *call, int32_t size);

// Most answers fit into this buffer, so the host is asked once.
static char scratch[8 << 10];

// ANSWER is the output of a host function whose last arguments are a buffer and its size:
// bytes, or the negative error as an int. Between two calls, another instance may change what is asked for,
// such as a value of a memo: nothing was written into a buffer that has become too small.
#define ANSWER(call_with)                                                              \
  do {                                                                                 \
    int64_t n = call_with(scratch, (int32_t)sizeof scratch), room = sizeof scratch;    \
    if (n < 0) return PyLong_FromLongLong(n);                                          \
    if (n <= room) return PyBytes_FromStringAndSize(scratch, (Py_ssize_t)n);           \
    PyObject *bytes = NULL;                                                            \
    while (n > room) {                                                                 \
      Py_XDECREF(bytes);                                                               \
      if (!(bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n))) return NULL;      \
      room = n, n = call_with(PyBytes_AS_STRING(bytes), (int32_t)room);                \
    }                                                                                  \
    if (n < 0) Py_SETREF(bytes, PyLong_FromLongLong(n));                               \
    else if (n < room) _PyBytes_Resize(&bytes, (Py_ssize_t)n);                         \
    return bytes;                                                                      \
  } while (0)

// text is the UTF-8 of a str; lone surrogates are replaced.
static PyObject *text(PyObject *str) {
  if (!PyUnicode_Check(str)) {
    PyErr_Format(PyExc_TypeError, "str expected, not %.80s", Py_TYPE(str)->tp_name);
    return NULL;
  }
  return PyUnicode_AsEncodedString(str, "utf-8", "replace");
}

static PyObject *kopf_log(PyObject *self, PyObject *args) {
  int task, level;
  PyObject *line;
  if (!PyArg_ParseTuple(args, "iiU", &task, &level, &line)) return NULL;
  PyObject *bytes = text(line);
  if (!bytes) return NULL;
  host_log(task, level, PyBytes_AS_STRING(bytes), (int32_t)PyBytes_GET_SIZE(bytes));
  Py_DECREF(bytes);
  Py_RETURN_NONE;
}

// or_none is None in place of the error that there is no such value.
static PyObject *or_none(PyObject *answer) {
  if (answer && !PyBytes_Check(answer)) Py_SETREF(answer, Py_NewRef(Py_None));
  return answer;
}

static PyObject *segment(int task, int tag) {
#define CALL(out, cap) host_segment(task, tag, out, cap)
  ANSWER(CALL);
#undef CALL
}

static PyObject *kopf_segment(PyObject *self, PyObject *args) {
  int task, tag;
  if (!PyArg_ParseTuple(args, "ii", &task, &tag)) return NULL;
  return or_none(segment(task, tag));
}

static PyObject *kopf_stopped(PyObject *self, PyObject *args) {
  int task;
  if (!PyArg_ParseTuple(args, "i", &task)) return NULL;
  return PyLong_FromLong(host_stopped(task));
}

static PyObject *config(PyObject *key) {
#define CALL(out, cap) host_config(PyBytes_AS_STRING(key), (int32_t)PyBytes_GET_SIZE(key), out, cap)
  ANSWER(CALL);
#undef CALL
}

static PyObject *kopf_config(PyObject *self, PyObject *args) {
  PyObject *key;
  if (!PyArg_ParseTuple(args, "U", &key) || !(key = text(key))) return NULL;
  PyObject *value = or_none(config(key));
  Py_DECREF(key);
  return value;
}

static PyObject *file(PyObject *path) {
#define CALL(out, cap) host_file(PyBytes_AS_STRING(path), (int32_t)PyBytes_GET_SIZE(path), out, cap)
  ANSWER(CALL);
#undef CALL
}

static PyObject *kopf_file(PyObject *self, PyObject *args) {
  PyObject *path;
  if (!PyArg_ParseTuple(args, "U", &path) || !(path = text(path))) return NULL;
  PyObject *content = or_none(file(path));
  Py_DECREF(path);
  return content;
}

static PyObject *kopf_event(PyObject *self, PyObject *args) {
  int task;
  Py_buffer event;
  if (!PyArg_ParseTuple(args, "iy*", &task, &event)) return NULL;
  int32_t code = host_event(task, event.buf, (int32_t)event.len);
  PyBuffer_Release(&event);
  return PyLong_FromLong(code);
}

static PyObject *memo(int task, int scope, PyObject *key) {
#define CALL(out, cap) host_memo_get(task, scope, PyBytes_AS_STRING(key), (int32_t)PyBytes_GET_SIZE(key), out, cap)
  ANSWER(CALL);
#undef CALL
}

static PyObject *kopf_memo_get(PyObject *self, PyObject *args) {
  int task, scope;
  PyObject *key;
  if (!PyArg_ParseTuple(args, "iiU", &task, &scope, &key) || !(key = text(key))) return NULL;
  PyObject *found = memo(task, scope, key);
  Py_DECREF(key);
  if (!found || !PyBytes_Check(found)) return found;
  uint64_t version; // little-endian, as this machine is
  memcpy(&version, PyBytes_AS_STRING(found), sizeof version);
  PyObject *pair = Py_BuildValue("Ky#", (unsigned long long)version, PyBytes_AS_STRING(found) + sizeof version,
                                 PyBytes_GET_SIZE(found) - (Py_ssize_t)sizeof version);
  Py_DECREF(found);
  return pair;
}

static PyObject *kopf_memo_set(PyObject *self, PyObject *args) {
  int task, scope;
  long long version;
  PyObject *key;
  Py_buffer value;
  if (!PyArg_ParseTuple(args, "iiUy*L", &task, &scope, &key, &value, &version)) return NULL;
  PyObject *result = NULL;
  if ((key = text(key))) {
    result = PyLong_FromLongLong(host_memo_set(task, scope, PyBytes_AS_STRING(key), (int32_t)PyBytes_GET_SIZE(key), value.buf, (int32_t)value.len, version));
    Py_DECREF(key);
  }
  PyBuffer_Release(&value);
  return result;
}

static PyObject *look_up(int task, int op, PyObject *name, Py_buffer *key) {
#define CALL(out, cap) \
  host_index(task, op, PyBytes_AS_STRING(name), (int32_t)PyBytes_GET_SIZE(name), key->buf, (int32_t)key->len, out, cap)
  ANSWER(CALL);
#undef CALL
}

static PyObject *kopf_index(PyObject *self, PyObject *args) {
  int task, op;
  PyObject *name, *found = NULL;
  Py_buffer key;
  if (!PyArg_ParseTuple(args, "iiUy*", &task, &op, &name, &key)) return NULL;
  if ((name = text(name))) {
    found = look_up(task, op, name, &key);
    Py_DECREF(name);
  }
  PyBuffer_Release(&key);
  return found;
}

// The answer waits at the host: a request cannot be repeated for a larger buffer.
static PyObject *kopf_call(PyObject *self, PyObject *args) {
  int task;
  Py_buffer wanted;
  if (!PyArg_ParseTuple(args, "iy*", &task, &wanted)) return NULL;
  int64_t code = host_call(task, wanted.buf, (int32_t)wanted.len);
  PyBuffer_Release(&wanted);
  return code < 0 ? PyLong_FromLongLong(code) : segment(task, TAG_ANSWER);
}

static PyMethodDef functions[] = {
    {"log", kopf_log, METH_VARARGS, NULL},
    {"segment", kopf_segment, METH_VARARGS, NULL},
    {"stopped", kopf_stopped, METH_VARARGS, NULL},
    {"config", kopf_config, METH_VARARGS, NULL},
    {"event", kopf_event, METH_VARARGS, NULL},
    {"memo_get", kopf_memo_get, METH_VARARGS, NULL},
    {"memo_set", kopf_memo_set, METH_VARARGS, NULL},
    {"index", kopf_index, METH_VARARGS, NULL},
    {"file", kopf_file, METH_VARARGS, NULL},
    {"call", kopf_call, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kopf", NULL, -1, functions, NULL, NULL, NULL, NULL};
static PyObject *init_kopf(void) { return PyModule_Create(&module); }

// --- the interpreter ---

static PyObject *exchange; // the module kopf._exchange
static PyObject *answer;   // the host reads it before its next call

static _Noreturn void give_up(const char *why) {
  host_log(0, CRITICAL, why, (int32_t)strlen(why));
  __builtin_trap();
}

// fail ends the call by a trap, with the exception as its reason. PyErr_Print would end the
// program at SystemExit.
static _Noreturn void fail(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (!type) give_up("the library has answered no bytes");
  PyErr_Display(type, value, trace);
  PyObject *message = value ? PyUnicode_FromFormat("%s: %S", ((PyTypeObject *)type)->tp_name, value) : NULL;
  PyObject *bytes = message ? text(message) : NULL;
  give_up(bytes ? PyBytes_AS_STRING(bytes) : ((PyTypeObject *)type)->tp_name);
}

static void check(PyStatus status) {
  if (PyStatus_Exception(status)) give_up(status.err_msg ? status.err_msg : "Python does not start");
}

// There are no files, so there are no paths; and no environment, so none is read.
static void configure(PyConfig *c) {
  PyConfig_InitIsolatedConfig(c);
  c->site_import = c->write_bytecode = c->install_signal_handlers = c->pathconfig_warnings = c->configure_c_stdio = 0;
  c->use_frozen_modules = c->module_search_paths_set = 1;
  wchar_t **paths[] = {&c->executable, &c->base_executable, &c->prefix, &c->exec_prefix, &c->base_prefix, &c->base_exec_prefix, &c->home, &c->stdlib_dir};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) check(PyConfig_SetString(c, paths[i], L""));
  check(PyConfig_SetString(c, &c->program_name, L"kopf"));
}

// freeze gives CPython the two tables as one, which ends in zeros.
static void freeze(void) {
  struct _frozen *all = calloc(stdlib_count + lib_count + 1, sizeof *all);
  if (!all) give_up("out of memory");
  memcpy(all, stdlib_table, stdlib_count * sizeof *all);
  memcpy(all + stdlib_count, lib_table, lib_count * sizeof *all);
  PyImport_FrozenModules = all;
}

static void start_python(void) {
  freeze();
  extern PyObject *PyInit_zlib(void);
  PyImport_AppendInittab("_kopf", init_kopf);
  PyImport_AppendInittab("zlib", PyInit_zlib);

  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;
  check(Py_PreInitialize(&before));
  PyConfig c;
  configure(&c);
  check(Py_InitializeFromConfig(&c));
  PyConfig_Clear(&c);
  exchange = PyImport_ImportModule("kopf._exchange");
  if (!exchange) fail();
}

// call calls a function of kopf._exchange. The message is freed.
static PyObject *call(const char *name, int32_t task, char *message, int32_t size) {
  if (!exchange) start_python();
  PyObject *bytes = PyBytes_FromStringAndSize(message, size);
  free(message);
  PyObject *result = bytes ? PyObject_CallMethod(exchange, name, "iO", task, bytes) : NULL;
  Py_XDECREF(bytes);
  if (!result) fail();
  return result;
}

static uint64_t ask(const char *name, int32_t task, char *message, int32_t size) {
  PyObject *result = call(name, task, message, size);
  if (!PyBytes_Check(result)) fail();
  Py_XSETREF(answer, result);
  return (uint64_t)(uintptr_t)PyBytes_AS_STRING(result) << 32 | (uint64_t)PyBytes_GET_SIZE(result);
}

static void tell(const char *name, int32_t task) {
  PyObject *result = PyObject_CallMethod(exchange, name, "i", task);
  if (!result) fail();
  Py_DECREF(result);
}

// --- exports ---

EXPORT("kopf_abi_v1") void kopf_abi_v1(void) {}
EXPORT("kopf_alloc") char *kopf_alloc(int32_t size) { return malloc(size > 0 ? (size_t)size : 1); }
EXPORT("kopf_register") uint64_t kopf_register(char *message, int32_t size) { return ask("register", 0, message, size); }
EXPORT("kopf_start") uint64_t kopf_start(int32_t task, char *frame, int32_t size) { return ask("start", task, frame, size); }
EXPORT("kopf_resume") uint64_t kopf_resume(int32_t task, char *message, int32_t size) { return ask("resume", task, message, size); }
EXPORT("kopf_ask") uint64_t kopf_ask(int32_t task, char *frame, int32_t size) { return ask("ask", task, frame, size); }
EXPORT("kopf_transform") uint64_t kopf_transform(int32_t task, char *body, int32_t size) { return ask("transform", task, body, size); }
EXPORT("kopf_cancel") void kopf_cancel(int32_t task) { tell("cancel", task); }
EXPORT("kopf_release") void kopf_release(int32_t task) { tell("release", task); }
