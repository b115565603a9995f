/* What an operator in C needs of Kopf and of Extism, without a standard library:
 * the functions of the host, views of JSON, and a buffer for messages.
 * Messages: abi/SPEC.md of Kopf, "Plugins of Extism". */
#ifndef KOPF_H
#define KOPF_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define HOST(name) __attribute__((import_module("extism:host/env"), import_name(#name))) extern
#define EXPORT(name) __attribute__((export_name(name)))

HOST(input_length) u64 input_length(void);
HOST(input_load_u8) u32 input_load_u8(u64);
HOST(alloc) u64 host_alloc(u64);
HOST(store_u8) void store_u8(u64, u32);
HOST(output_set) void output_set(u64, u64);
HOST(log_info) void log_info(u64);

/* Text is a piece of memory. */
typedef struct { const char *at; u32 size; } Text;
#define TEXT(literal) ((Text){literal, sizeof(literal) - 1})

/* Buffer is where texts are put together; what does not fit is cut off. */
typedef struct { char *at; u32 size, limit; } Buffer;

static void put(Buffer *b, Text t) {
	for (u32 i = 0; i < t.size && b->size < b->limit; i++) b->at[b->size++] = t.at[i];
}

static u64 to_host(Text t) {
	u64 offset = host_alloc(t.size);
	for (u32 i = 0; i < t.size; i++) store_u8(offset + i, (u8)t.at[i]);
	return offset;
}

static void output(Text t) { output_set(to_host(t), t.size); }
static void info(Text t) { log_info(to_host(t)); }

static Text input(Buffer *b) {
	u64 size = input_length();
	for (u64 i = 0; i < size && b->size < b->limit; i++) b->at[b->size++] = (char)input_load_u8(i);
	return (Text){b->at, b->size};
}

static u32 space(Text j, u32 i) {
	while (i < j.size && (u8)j.at[i] <= ' ') i++;
	return i;
}

/* skip is the position after the value that begins at i. */
static u32 skip(Text j, u32 i) {
	u32 depth = 0;
	for (; i < j.size; i++) {
		char c = j.at[i];
		if (c == '"') {
			for (i++; i < j.size && j.at[i] != '"'; i++)
				if (j.at[i] == '\\') i++;
			if (!depth) return i < j.size ? i + 1 : j.size;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (!depth) return i;
			if (!--depth) return i + 1;
		} else if (!depth && (c == ',' || c == ':' || (u8)c <= ' ')) {
			return i;
		}
	}
	return i;
}

static int same(Text a, Text b) {
	if (a.size != b.size) return 0;
	for (u32 i = 0; i < a.size; i++)
		if (a.at[i] != b.at[i]) return 0;
	return 1;
}

/* get finds a member of an object; an empty text if it has none. Keys are compared
 * as they are written. */
static Text get(Text j, Text key) {
	u32 i = j.size && j.at[0] == '{' ? 1 : j.size;
	while ((i = space(j, i)) < j.size && j.at[i] == '"') {
		u32 end = skip(j, i);
		Text name = {j.at + i + 1, end - i - 2};
		u32 value = space(j, space(j, end) + 1), next = skip(j, value);
		if (same(name, key)) return (Text){j.at + value, next - value};
		i = space(j, next) + 1;
	}
	return (Text){0, 0};
}

/* inner is a string without its quotes, escapes as they are. */
static Text inner(Text j) {
	if (j.size < 2 || j.at[0] != '"') return j;
	return (Text){j.at + 1, j.size - 2};
}

static u32 number(Text j) {
	u32 n = 0;
	for (u32 i = 0; i < j.size && j.at[i] >= '0' && j.at[i] <= '9'; i++) n = n * 10 + (u32)(j.at[i] - '0');
	return n;
}
#endif
