package stores

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Bounds of the JSON forms. Each event of an object costs time for each storage and each ignored
// field, and guests can choose them.
const (
	maxStorages = 16
	maxFields   = 256  // that one storage ignores
	maxText     = 253  // bytes of a prefix, which is a domain, a key, or a name
	maxPath     = 1024 // bytes of a path
)

// NewProgress creates a progress storage from its JSON form: an object with the type and the
// options, or a list of such objects to use several storages at once:
//
//	{"type": "smart", "prefix": …, "name": …, "field": …, "touch_key": …, "touch_field": …, "v1": true, "verbose": false}
//	{"type": "annotations", "prefix": …, "touch_key": …, "v1": true, "verbose": false}
//	{"type": "status", "name": …, "field": …, "touch_field": …}
//
// Fields are dotted strings, in which {name} is replaced, or lists of keys.
// Errors name the storage and the option.
func NewProgress(config json.RawMessage) (ProgressStorage, error) {
	storage, err := build("progress storage", config, newProgressOf,
		func(list []ProgressStorage) ProgressStorage { return MultiProgress(list) })
	if err != nil {
		return nil, err
	}
	return storage, nil
}

// NewDiffBase creates a diff-base storage from its JSON form, as NewProgress does:
//
//	{"type": "annotations", "prefix": …, "key": …, "ignored_fields": […], "v1": true}
//	{"type": "status", "name": …, "field": …, "ignored_fields": […]}
func NewDiffBase(config json.RawMessage) (DiffBaseStorage, error) {
	storage, err := build("diff-base storage", config, newDiffBaseOf,
		func(list []DiffBaseStorage) DiffBaseStorage { return MultiDiffBase(list) })
	if err != nil {
		return nil, err
	}
	return storage, nil
}

func newProgressOf(o *options) ProgressStorage {
	annotations := func() AnnotationsProgressOptions {
		return AnnotationsProgressOptions{
			Prefix:   o.domain("prefix"),
			TouchKey: o.text("touch_key"),
			Verbose:  o.flag("verbose", false),
			NoV1:     !o.flag("v1", true),
		}
	}
	status := func() StatusProgressOptions {
		return StatusProgressOptions{
			Name:       o.text("name"),
			Field:      o.field("field"),
			TouchField: o.field("touch_field"),
		}
	}
	switch kind := o.text("type"); kind {
	case "annotations":
		return NewAnnotationsProgress(annotations())
	case "status":
		return NewStatusProgress(status())
	case "smart":
		return NewSmartProgress(SmartProgressOptions{Annotations: annotations(), Status: status()})
	default:
		o.unknownType(kind, "annotations, smart, status")
		return nil
	}
}

func newDiffBaseOf(o *options) DiffBaseStorage {
	switch kind := o.text("type"); kind {
	case "annotations":
		return NewAnnotationsDiffBase(AnnotationsDiffBaseOptions{
			Prefix:        o.domain("prefix"),
			Key:           o.text("key"),
			IgnoredFields: o.fields("ignored_fields"),
			NoV1:          !o.flag("v1", true),
		})
	case "status":
		return NewStatusDiffBase(StatusDiffBaseOptions{
			Name:          o.text("name"),
			Field:         o.field("field"),
			IgnoredFields: o.fields("ignored_fields"),
		})
	default:
		o.unknownType(kind, "annotations, status")
		return nil
	}
}

// build creates one storage from an object, or a combined storage from a list.
func build[S any](title string, config json.RawMessage, one func(*options) S, many func([]S) S) (none S, _ error) {
	doc, err := dicts.Decode(config)
	if err != nil {
		return none, fmt.Errorf("%s: %w", title, err)
	}
	list, ok := doc.([]any)
	if !ok {
		return buildOne(title, doc, one)
	}
	if len(list) == 0 {
		return none, fmt.Errorf("%s: the list is empty, so nothing would be stored", title)
	}
	if len(list) > maxStorages {
		return none, fmt.Errorf("%s: the list has %d storages, and at most %d can be used", title, len(list), maxStorages)
	}
	storages := make([]S, len(list))
	for i, item := range list {
		if storages[i], err = buildOne(fmt.Sprintf("%s %d", title, i+1), item, one); err != nil {
			return none, err
		}
	}
	return many(storages), nil
}

func buildOne[S any](title string, doc any, one func(*options) S) (none S, _ error) {
	obj, ok := doc.(Object)
	if !ok {
		return none, fmt.Errorf("%s: %s is not an object with a type", title, dicts.Encode(doc))
	}
	o := &options{values: obj, used: map[string]bool{}}
	storage := one(o)
	if err := o.err(); err != nil {
		return none, fmt.Errorf("%s: %w", title, err)
	}
	return storage, nil
}

// options reads the options of one storage, and collects errors.
type options struct {
	values  Object
	used    map[string]bool
	badType bool
	errs    []error
}

// text returns an empty text if the option is absent. An empty option is an error.
func (o *options) text(key string) string {
	value, ok := o.take(key)
	text, isText := value.(string)
	if ok && text == "" || !isText && ok {
		o.fail(key, value, "a non-empty string")
	}
	if len(text) > maxText {
		o.errs = append(o.errs, fmt.Errorf("%s: the text has %d bytes, and may have at most %d", key, len(text), maxText))
	}
	return text
}

// domain returns a text that can stand before the slash in the key of an annotation. The API server
// refuses other keys, each time an object is handled.
func (o *options) domain(key string) string {
	text := o.text(key)
	if text != "" && !domains.MatchString(text) {
		o.fail(key, text, `a domain such as "example.com"`)
	}
	return text
}

// domains are those of Kubernetes, which ignores the case in keys of annotations.
var domains = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*$`)

func (o *options) flag(key string, fallback bool) bool {
	value, ok := o.take(key)
	if !ok {
		return fallback
	}
	flag, isFlag := value.(bool)
	if !isFlag {
		o.fail(key, value, "true or false")
	}
	return flag
}

// field returns nil if the option is absent.
func (o *options) field(key string) Path {
	value, ok := o.take(key)
	if !ok {
		return nil
	}
	return o.parse(key, value)
}

func (o *options) fields(key string) []Path {
	value, ok := o.take(key)
	list, isList := value.([]any)
	if ok && !isList {
		o.fail(key, value, "a list of fields")
	}
	if len(list) > maxFields {
		o.errs = append(o.errs, fmt.Errorf("%s: the list has %d fields, and at most %d can be ignored", key, len(list), maxFields))
		return nil
	}
	paths := make([]Path, len(list))
	for i, item := range list {
		paths[i] = o.parse(key, item)
	}
	return paths
}

func (o *options) parse(key string, value any) Path {
	if text, ok := value.(string); ok && text != "" {
		value = strings.ReplaceAll(text, "{name}", cmp.Or(dicts.LookupString(o.values, "name"), DefaultStatusName))
	}
	path, err := dicts.ParsePath(value)
	size := 0
	for _, part := range path {
		size += len(part) + 1
	}
	switch {
	case err != nil || len(path) == 0 || path[0] == "":
		o.fail(key, value, `a field such as "spec.field" or ["spec", "field"]`)
	case size > maxPath:
		o.errs = append(o.errs, fmt.Errorf("%s: the path has %d bytes, and may have at most %d", key, size, maxPath))
	}
	return path
}

func (o *options) take(key string) (any, bool) {
	o.used[key] = true
	value, ok := o.values[key]
	return value, ok
}

func (o *options) fail(key string, value any, want string) {
	o.errs = append(o.errs, fmt.Errorf("%s: %s is not %s", key, dicts.Encode(value), want))
}

func (o *options) unknownType(kind, known string) {
	o.badType = true
	if o.errs == nil {
		o.errs = append(o.errs, fmt.Errorf("unknown type %q: want one of %s, or a list of storages", kind, known))
	}
}

// err joins the errors, including those about unknown options.
func (o *options) err() error {
	errs := o.errs
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		if !o.used[key] && !o.badType {
			errs = append(errs, fmt.Errorf("unknown field %q", key))
		}
	}
	return errors.Join(errs...)
}
