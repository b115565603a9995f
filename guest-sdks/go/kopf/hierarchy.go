package kopf

import "errors"

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

// What an owner lacks.
var (
	errOwnerName = errors.New("the owner has no name: set one")
	errOwnerUID  = errors.New("the owner has no uid: its references cannot be distinguished from others")
)

// Adoption says how children are made. The zero value is the usual way.
type Adoption struct {
	Forced bool // overwrite labels, names and namespaces that are there
	Strict bool // give the very name, instead of one with a random suffix

	// Nested are paths of objects in the children that get the labels too, where they
	// exist. A path is its keys: {"spec", "template"}.
	Nested [][]string

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
// namespaces and labels to the children that have none. It ends with the first
// error, which may leave some of the children changed.
//
// Kopf: kopf.adopt.
func (o Owner) Adopt(objects any, how ...Adoption) error {
	for _, step := range [...]func(any, ...Adoption) error{
		o.AppendOwnerReference, o.HarmonizeNaming, o.AdjustNamespace, o.Label,
	} {
		if err := step(objects, how...); err != nil {
			return err
		}
	}
	return nil
}

// AppendOwnerReference makes the children be deleted with the owner.
//
// Kopf: kopf.append_owner_reference.
func (o Owner) AppendOwnerReference(objects any, how ...Adoption) error {
	if _, err := o.reference(one(how)); err != nil {
		return err
	}
	return eachObject(objects, func(child object) error {
		m, others, found, err := o.ownersOf(child)
		if err != nil || found {
			return err
		}
		reference, err := o.reference(one(how)) // children must not share it
		if err != nil {
			return err
		}
		return m.set("ownerReferences", append(others, reference))
	})
}

// RemoveOwnerReference undoes AppendOwnerReference.
//
// Kopf: kopf.remove_owner_reference.
func (o Owner) RemoveOwnerReference(objects any) error {
	if !o.of.Exists() {
		return ErrNoOwner
	}
	return eachObject(objects, func(child object) error {
		m, others, _, err := o.ownersOf(child)
		if err != nil {
			return err
		}
		return m.set("ownerReferences", others)
	})
}

// ownersOf are the references to other owners, and whether there are some to this one.
func (o Owner) ownersOf(child object) (m metadata, others []any, found bool, err error) {
	if m, err = child.metadata(); err != nil {
		return m, nil, false, err
	}
	list, err := m.owners()
	uid := o.of.Get("metadata", "uid").String()
	if err == nil && uid == "" && len(list) > 0 {
		err = errOwnerUID
	}
	others = []any{}
	for _, item := range list {
		if reference, _ := item.(Map); reference["uid"] == any(uid) {
			found = true
		} else {
			others = append(others, item)
		}
	}
	return m, others, found, err
}

// Label adds labels that are not there yet.
//
// Kopf: kopf.label.
func (o Owner) Label(objects any, how ...Adoption) error {
	options := one(how)
	if options.Labels == nil {
		if !o.of.Exists() {
			return ErrNoOwner
		}
		options.Labels = o.of.Get("metadata", "labels").Map()
	}
	return eachObject(objects, func(child object) error {
		if err := options.label(child); err != nil {
			return err
		}
		for _, part := range options.Nested {
			if present, err := child.mapAt(part); present == nil {
				if err != nil {
					return err
				}
				continue
			}
			if err := options.label(child, part...); err != nil {
				return err
			}
		}
		return nil
	})
}

// label labels a child, or a part of it.
func (a *Adoption) label(child object, part ...string) error {
	m, err := child.metadata(part...)
	if err != nil {
		return err
	}
	labels, err := m.labels()
	if err != nil {
		return err
	}
	for key, value := range a.Labels {
		if _, present := labels[key]; !present || a.Forced {
			labels[key] = value
		}
	}
	return m.set("labels", labels)
}

// HarmonizeNaming gives names: the owner's name as a prefix, or the name itself in
// strict mode.
//
// Kopf: kopf.harmonize_naming.
func (o Owner) HarmonizeNaming(objects any, how ...Adoption) error {
	options := one(how)
	if options.Name == "" {
		if !o.of.Exists() {
			return ErrNoOwner
		}
		if options.Name = o.of.Get("metadata", "name").String(); options.Name == "" {
			return errOwnerName
		}
	}
	return eachObject(objects, func(child object) error {
		m, err := child.metadata()
		if err != nil {
			return err
		}
		if !options.Forced && (isSet(m.values["name"]) || isSet(m.values["generateName"])) {
			return nil
		}
		if options.Strict {
			return errors.Join(m.set("name", options.Name), m.delete("generateName"))
		}
		return errors.Join(m.set("generateName", options.Name+"-"), m.delete("name"))
	})
}

// AdjustNamespace puts the children into the namespace of the owner, which is
// null if the owner has none.
//
// Kopf: kopf.adjust_namespace.
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
	return eachObject(objects, func(child object) error {
		m, err := child.metadata()
		if err != nil || isSet(m.values["namespace"]) && !options.Forced {
			return err
		}
		return m.set("namespace", namespace)
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
