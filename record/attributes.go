package record

import (
	"errors"
	"maps"
	"slices"

	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Attributes are texts of a record for programs, by names of their own. Kartei keeps them as they
// are, and gives them no meaning.
type Attributes map[string]string

// MergedExternalID is the name of the attribute for the external id of a record that was merged into
// another one, if that one has an external id itself.
const MergedExternalID = "mergedExternalId"

// MarshalJSONTo writes the attributes in the order of their names. Equal attributes must have equal
// JSON, because a change that changes nothing makes no revision.
func (a Attributes) MarshalJSONTo(e *jsontext.Encoder) error {
	if len(a) == 0 {
		return e.WriteValue(noAttributes)
	}
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if err := errors.Join(e.WriteToken(jsontext.String(name)), e.WriteToken(jsontext.String(a[name]))); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

var noAttributes = jsontext.Value(`{}`)

// UnmarshalJSONFrom merges a JSON object into the attributes, as a merge patch does (RFC 7396): null
// removes an attribute, and other values set it. A null in place of the object removes all.
func (a *Attributes) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var sent map[string]*string
	if err := json.UnmarshalDecode(d, &sent); err != nil {
		return err
	}
	if sent == nil || *a == nil {
		*a = Attributes{}
	}
	for name, value := range sent {
		if value == nil {
			delete(*a, name)
		} else {
			(*a)[name] = *value
		}
	}
	return nil
}

// wrong returns a violation if there are more than MaxAttributes. The schema checks only those of
// one request.
func (a Attributes) wrong() []fault.Field {
	if len(a) <= MaxAttributes {
		return nil
	}
	return []fault.Field{{Name: "attributes", Code: fault.TooLong, Limit: fault.Items(MaxAttributes)}}
}
