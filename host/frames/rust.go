package frames

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Bounds of names. A guest chooses them: a name of a few bytes can stand for megabytes.
const (
	maxMangled   = 512 // bytes; longer names are not demangled
	maxDemangled = 10  // the logarithm of the bytes of a demangled name
)

// mangled finds names of Rust in a stack: _RNvCs…_8operator3fn, and _ZN8operator2fn17h0123456789abcdefE.
var mangled = regexp.MustCompile(`\b(?:_R[A-Za-z0-9_]+|_ZN[A-Za-z0-9_.$]+E)`)

// Demangle replaces names that the compiler of Rust has made by those of the source.
func Demangle(stack string) string {
	if !strings.Contains(stack, "_R") && !strings.Contains(stack, "_ZN") {
		return stack
	}
	return mangled.ReplaceAllStringFunc(stack, func(name string) string {
		if len(name) > maxMangled {
			return name
		}
		if strings.HasPrefix(name, "_ZN") {
			return legacy(name)
		}
		return current(name)
	})
}

// current returns a name of the scheme v0, without generic arguments.
//
// See https://doc.rust-lang.org/rustc/symbol-mangling/v0.html
func current(name string) (plain string) {
	defer func() {
		if recover() != nil { // the library panics for some invalid names
			plain = name
		}
	}()
	plain, err := demangle.ToString(name, demangle.MaxLength(maxDemangled), demangle.NoTemplateParams)
	if err != nil {
		return name
	}
	return strings.ReplaceAll(plain, "::<>", "") // what is left of generic arguments
}

// hash is the last part of a name of the legacy scheme.
var hash = regexp.MustCompile(`^h[0-9a-f]{16}$`)

// legacy returns a name of the legacy scheme: lengths and parts, of which the last one is a hash.
// Other names that begin so are of C++, and are not demangled.
func legacy(name string) string {
	left, parts := strings.TrimSuffix(strings.TrimPrefix(name, "_ZN"), "E"), []string{}
	for left != "" {
		digits := len(left) - len(strings.TrimLeft(left, "0123456789"))
		size, err := strconv.Atoi(left[:digits])
		if err != nil || size > len(left)-digits {
			return name
		}
		parts, left = append(parts, left[digits:digits+size]), left[digits+size:]
	}
	if len(parts) < 2 || !hash.MatchString(parts[len(parts)-1]) {
		return name
	}
	for i, part := range parts {
		parts[i] = unescaped.Replace(trimmed(part))
	}
	return strings.Join(parts[:len(parts)-1], "::")
}

// trimmed is a part without the underscore before an escape at its beginning.
func trimmed(part string) string {
	if strings.HasPrefix(part, "_$") {
		return part[1:]
	}
	return part
}

// unescaped replaces the escapes of the legacy scheme.
var unescaped = strings.NewReplacer(
	"$SP$", "@", "$BP$", "*", "$RF$", "&", "$LT$", "<", "$GT$", ">", "$LP$", "(", "$RP$", ")", "$C$", ",",
	"$u7e$", "~", "$u20$", " ", "$u27$", "'", "$u5b$", "[", "$u5d$", "]", "$u7b$", "{", "$u7d$", "}", "$u3b$", ";", "$u2b$", "+", "$u22$", `"`, "..", "::",
)
