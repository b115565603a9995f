package kopf

import (
	"errors"
	"strings"
)

// Owner makes other objects children of an object. Arguments of handlers embed
// the Owner of the handled object:
//
//	pod := kopf.Map{"apiVersion": "v1", "kind": "Pod", "spec": …}
//	if err := c.Adopt(pod); err != nil {
//		return nil, err
//	}
//
// Elsewhere, see OwnerOf. The children are changed in place: maps, pointers to
// structs with json tags, and lists of them, nested at will.
//
// See https://docs.kopf.dev/en/latest/hierarchies/
type Owner struct{ of View }

// OwnerOf is an object as an owner: a map, a struct, or a view of the body.
func OwnerOf(body any) Owner {
	if v, ok := body.(View); ok {
		return Owner{v}
	}
	return Owner{ViewOf(body)}
}

// ErrNoOwner is an owner without a body: only objects can own others.
var ErrNoOwner = errors.New("there is no owner: the handler has no object, or the object no body")

// errOwnerName is a name that nobody knows.
var errOwnerName = errors.New("the owner has no name: set one")

// Adoption says how children are made. The zero value is the usual way.
type Adoption struct {
	Forced bool     // overwrite labels, names and namespaces that are there
	Strict bool     // give the very name, instead of one with a random suffix
	Nested []string // fields with objects to be labelled too, as spec.template, where they exist

	Labels    Map     // of the children; nil: those of the owner
	Name      string  // of the children; "": that of the owner
	Namespace *string // of the children; nil: that of the owner, "": none

	Controller, BlockOwnerDeletion OwnerFlag // of the owner reference
}

// OwnerFlag is a flag of an owner reference.
type OwnerFlag int

// Values of flags.
const (
	FlagTrue OwnerFlag = iota
	FlagFalse
	FlagOmitted
)

// Adopt does all there is to do: it adds the owner reference, and gives names,
// namespaces and labels to the children that have none.
func (o Owner) Adopt(objects any, how ...Adoption) error {
	return errors.Join(
		o.AppendOwnerReference(objects, how...),
		o.HarmonizeNaming(objects, how...),
		o.AdjustNamespace(objects, how...),
		o.Label(objects, how...),
	)
}

// AppendOwnerReference makes the children be deleted with the owner.
func (o Owner) AppendOwnerReference(objects any, how ...Adoption) error {
	reference, err := o.reference(one(how))
	if err != nil {
		return err
	}
	return eachObject(objects, func(object Map) {
		references := ownerReferences(object)
		if indexOfUID(references, reference["uid"]) < 0 {
			setOwnerReferences(object, append(references, reference))
		}
	})
}

// RemoveOwnerReference undoes AppendOwnerReference.
func (o Owner) RemoveOwnerReference(objects any) error {
	reference, err := o.reference(Adoption{})
	if err != nil {
		return err
	}
	return eachObject(objects, func(object Map) {
		references := ownerReferences(object)
		for i := indexOfUID(references, reference["uid"]); i >= 0; i = indexOfUID(references, reference["uid"]) {
			references = append(references[:i:i], references[i+1:]...)
		}
		setOwnerReferences(object, references)
	})
}

// Label adds labels that are not there yet.
func (o Owner) Label(objects any, how ...Adoption) error {
	options := one(how)
	labels := options.Labels
	if labels == nil {
		if !o.of.Exists() {
			return ErrNoOwner
		}
		labels = o.of.Get("metadata", "labels").Map()
	}
	return eachObject(objects, func(object Map) {
		for _, target := range withNested(object, options.Nested) {
			present := Nested(target, "metadata", "labels")
			for key, value := range labels {
				if _, ok := present[key]; !ok || options.Forced {
					present[key] = value
				}
			}
		}
	})
}

// HarmonizeNaming gives names: the owner's name as a prefix, or as it is in
// strict mode.
func (o Owner) HarmonizeNaming(objects any, how ...Adoption) error {
	options := one(how)
	name := options.Name
	if name == "" {
		if !o.of.Exists() {
			return ErrNoOwner
		}
		if name = o.of.Get("metadata", "name").String(); name == "" {
			return errOwnerName
		}
	}
	return eachObject(objects, func(object Map) {
		meta := asMap(object["metadata"])
		if !options.Forced && (isSet(meta["name"]) || isSet(meta["generateName"])) {
			return
		}
		meta = Nested(object, "metadata")
		delete(meta, "name")
		delete(meta, "generateName")
		if options.Strict {
			meta["name"] = name
		} else {
			meta["generateName"] = name + "-"
		}
	})
}

// AdjustNamespace puts the children into the namespace of the owner.
func (o Owner) AdjustNamespace(objects any, how ...Adoption) error {
	options := one(how)
	var namespace any
	switch {
	case options.Namespace != nil && *options.Namespace != "":
		namespace = *options.Namespace
	case options.Namespace != nil:
	case !o.of.Exists():
		return ErrNoOwner
	default:
		namespace = o.of.Get("metadata", "namespace").Any()
	}
	return eachObject(objects, func(object Map) {
		if options.Forced || !isSet(asMap(object["metadata"])["namespace"]) {
			Nested(object, "metadata")["namespace"] = namespace
		}
	})
}

// reference is the owner reference to the owner.
func (o Owner) reference(how Adoption) (Map, error) {
	if !o.of.Exists() {
		return nil, ErrNoOwner
	}
	reference := Map{}
	for key, value := range map[string]View{
		"apiVersion": o.of.Get("apiVersion"), "kind": o.of.Get("kind"),
		"name": o.of.Get("metadata", "name"), "uid": o.of.Get("metadata", "uid"),
	} {
		if !value.IsNull() {
			reference[key] = value.Any()
		}
	}
	how.Controller.set(reference, "controller")
	how.BlockOwnerDeletion.set(reference, "blockOwnerDeletion")
	return reference, nil
}

func (f OwnerFlag) set(reference Map, key string) {
	if f != FlagOmitted {
		reference[key] = f == FlagTrue
	}
}

// one is the only item of optional arguments, or the zero value.
func one[T any](optional []T) (item T) {
	if len(optional) > 0 {
		item = optional[0]
	}
	return item
}

// isSet tells whether a name is one.
func isSet(value any) bool { return value != nil && value != "" }

// withNested are an object and the objects in its fields, where there are some.
func withNested(object Map, fields []string) []Map {
	all := []Map{object}
	for _, field := range fields {
		keys := strings.Split(field, ".")
		parent := object
		for _, key := range keys[:len(keys)-1] {
			if parent = asMap(parent[key]); parent == nil {
				break
			}
		}
		if asMap(parent[keys[len(keys)-1]]) != nil {
			all = append(all, Nested(object, keys...))
		}
	}
	return all
}

func ownerReferences(object Map) []any {
	references := asMap(object["metadata"])["ownerReferences"]
	if list, ok := references.([]any); ok {
		return list
	}
	return ViewOf(references).List()
}

// setOwnerReferences sets the list; an empty one rather than none.
func setOwnerReferences(object Map, references []any) {
	Nested(object, "metadata")["ownerReferences"] = append([]any{}, references...)
}

func indexOfUID(references []any, uid any) int {
	for i, reference := range references {
		if asMap(reference)["uid"] == uid {
			return i
		}
	}
	return -1
}
