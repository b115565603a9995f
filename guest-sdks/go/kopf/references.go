package kopf

// BuildObjectReference is a reference to an object, as events have one:
// apiVersion, kind, name, uid and namespace, as far as the object has them. The
// body is a map, a struct, or a view of it. Errors: ErrNoOwner if there is no body.
//
// Kopf: kopf.build_object_reference.
func BuildObjectReference(body any) (Map, error) {
	owner := OwnerOf(body)
	reference, err := owner.reference(Adoption{Controller: FlagOmitted, BlockOwnerDeletion: FlagOmitted})
	if err != nil {
		return nil, err
	}
	reference["namespace"] = owner.of.Get("metadata", "namespace").Any()
	for key, value := range reference {
		if !isSet(value) {
			delete(reference, key)
		}
	}
	return reference, nil
}

// BuildOwnerReference is the reference that AppendOwnerReference adds, for children
// that are made otherwise. Of the options, Controller and BlockOwnerDeletion have a
// meaning here. The body is a map, a struct, or a view of it. Errors: ErrNoOwner if
// there is no body.
//
// Kopf: kopf.build_owner_reference.
// See https://kubernetes.io/docs/concepts/architecture/garbage-collection/
func BuildOwnerReference(body any, how ...Adoption) (Map, error) {
	return OwnerOf(body).reference(one(how))
}
