package record

import (
	"reflect"
	"slices"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/search"
)

// Envelope has the members that every record has besides its own fields.
type Envelope struct {
	Object    string       `json:"object"`
	ID        string       `json:"id"`
	Revision  int64        `json:"revision" min:"1" example:"3"`
	CreatedAt clock.Micros `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
	UpdatedAt clock.Micros `json:"updatedAt" example:"2026-11-02T14:05:12.345678Z"`
}

// Visibility says who may see a record.
type Visibility string

// The values of Visibility. Only the owner and the admins of the organization see a private
// record.
const (
	Organization Visibility = "organization"
	Private      Visibility = "private"
)

// MaxTags is the maximum number of tags of a record. MaxTag is the maximum length of a tag in
// characters. The schema of CommonFields has the same bounds.
const (
	MaxTags = 20
	MaxTag  = 50
)

// MaxAttributes is the maximum number of attributes of a record. MaxAttribute is the maximum length of
// the value of one, in characters.
const (
	MaxAttributes = 20
	MaxAttribute  = 500
)

// CommonFields holds the writable members that all families have in common.
type CommonFields struct {
	Tags       []string   `json:"tags" maxItems:"20" min:"1" max:"50" example:"[\"Mandant\",\"Erbrecht\"]"`
	ExternalID *string    `json:"externalId" max:"200" example:"crm-4711"`
	OwnerID    string     `json:"ownerId" prefix:"usr_,svc_" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Visibility Visibility `json:"visibility" enum:"organization,private" named:"Visibility" default:"organization" example:"organization"`
	Attributes Attributes `json:"attributes" max:"500" multiline:"true" verbatim:"true" maxItems:"20" example:"{\"crmStage\":\"won\"}"`
}

// Additional holds the emails, telephone numbers and addresses of a contact or a company besides
// the first ones.
type Additional struct {
	AdditionalEmails    []AdditionalEmail   `json:"additionalEmails" maxItems:"20"`
	AdditionalPhones    []AdditionalPhone   `json:"additionalPhones" maxItems:"20"`
	AdditionalAddresses []AdditionalAddress `json:"additionalAddresses" maxItems:"10"`
}

// AdditionalEmail is an email of Additional. Label says what it is for: see Labels.
type AdditionalEmail struct {
	Email string  `json:"email" required:"true" format:"email" max:"254" bare:"true" example:"berg@kanzlei.example"`
	Label *string `json:"label" max:"50" example:"work"`
}

// AdditionalPhone is a telephone or fax number of Additional.
type AdditionalPhone struct {
	Phone string  `json:"phone" required:"true" min:"1" max:"50" bare:"true" example:"+49 221 9876544"`
	Label *string `json:"label" max:"50" example:"fax"`
}

// AdditionalAddress is a postal address of Additional.
type AdditionalAddress struct {
	Address
	Label *string `json:"label" max:"50" example:"home"`
}

// Labels are the labels of additional emails, numbers and addresses for which clients have words
// and icons. Any other text is a label of the office's own.
var Labels = []string{"work", "home", "mobile", "fax", "other"}

// MaxEntries is the maximum number of entries of each list of Additional, by its member. The schema of
// Additional has the same bounds.
var MaxEntries = map[string]int{"additionalEmails": 20, "additionalPhones": 20, "additionalAddresses": 10}

// MaxLabel is the maximum length of a label, in characters.
const MaxLabel = 50

// Normalize drops the addresses without any value.
func (a *Additional) Normalize() {
	a.AdditionalAddresses = slices.DeleteFunc(a.AdditionalAddresses,
		func(a AdditionalAddress) bool { return a.Address == (Address{}) })
}

// Words adds the search words of a to d, with the rank of the first email, number and address.
func (a *Additional) Words(d *search.Document) {
	for _, e := range a.AdditionalEmails {
		d.Add(search.Detail, e.Email)
	}
	for _, p := range a.AdditionalPhones {
		d.AddPhone(search.Detail, p.Phone)
	}
	for _, at := range a.AdditionalAddresses {
		d.AddAll(search.Detail, at.PostalCode, at.City)
	}
}

// Address is a postal address.
type Address struct {
	Street     *string `json:"street" max:"200" example:"Lindenstraße 7"`
	PostalCode *string `json:"postalCode" max:"20" bare:"true" example:"50667"`
	City       *string `json:"city" max:"200" example:"Köln"`
	Region     *string `json:"region" max:"200" example:"Nordrhein-Westfalen"`
	Country    *string `json:"country" enum:"iso3166" example:"DE"`
}

// OrNil returns nil for an address without any value.
func (a *Address) OrNil() *Address {
	if a == nil || *a == (Address{}) {
		return nil
	}
	return a
}

// Fields is the interface of a family's struct of writable members.
type Fields interface {
	op.Checker
	// Normalize completes the fields. Their texts are already trimmed.
	Normalize()
	// Shared returns the members that all families have in common.
	Shared() *CommonFields
	// Words returns the search words of the record.
	Words() *search.Document
}

// Marker is a tombstone in sync. It stands for a record that was deleted, or that the actor no
// longer sees.
type Marker struct {
	Object    string       `json:"object"`
	ID        string       `json:"id"`
	Deleted   bool         `json:"deleted" example:"true"`
	DeletedAt clock.Micros `json:"deletedAt" example:"2026-11-03T08:00:00.000000Z"`
}

// ListInput holds the parameters of every record list.
type ListInput struct {
	Limit          int          `query:"limit" min:"1" max:"100" default:"25" example:"25"`
	Cursor         string       `query:"cursor" min:"1" max:"4096" example:"AX3k9bQ"`
	UpdatedSince   clock.Micros `query:"updatedSince" example:"2026-11-01T00:00:00Z"`
	IncludeDeleted bool         `query:"includeDeleted" example:"true"`
	Q              string       `query:"q" min:"1" max:"200" example:"Müller"`
	Sort           string       `query:"sort" enum:"-updatedAt,updatedAt" default:"-updatedAt" example:"-updatedAt"`
	// Back reads towards the beginning of the list, and returns the page before the cursor.
	// Without a cursor, it returns the last page.
	Back bool `query:"back" example:"true"`
	// Near is the id of a record. The page begins at the record's place in the order. With Back,
	// the page ends before that place. The filters need not accept the record.
	Near string `query:"near" min:"1" max:"64" example:"con_01m7xt6x37exq80q6wxfww9et1"`
}

// CountInput holds the parameters of every record count.
type CountInput struct {
	UpdatedSince clock.Micros `query:"updatedSince" example:"2026-11-01T00:00:00Z"`
	Q            string       `query:"q" min:"1" max:"200" example:"Müller"`
}

// Check returns violations for parameters that cannot be combined.
func (in *ListInput) Check(given func(parameter string) bool) []fault.Field {
	var wrong []fault.Field
	if given("q") {
		for _, name := range []string{"updatedSince", "sort", "includeDeleted"} {
			if given(name) {
				wrong = append(wrong, fault.Field{Name: name, Code: fault.ForbiddenCombination, Text: notWithQ})
			}
		}
	}
	if in.Back && (given("q") || given("updatedSince")) {
		wrong = append(wrong, fault.Field{Name: "back", Code: fault.ForbiddenCombination, Text: onlyInLists})
	}
	if given("near") {
		for _, name := range []string{"q", "updatedSince", "cursor"} {
			if given(name) {
				wrong = append(wrong, fault.Field{Name: name, Code: fault.ForbiddenCombination, Text: notWithNear})
			}
		}
	}
	if in.IncludeDeleted && !given("updatedSince") {
		wrong = append(wrong, fault.Field{Name: "includeDeleted", Code: fault.ForbiddenCombination, Text: onlyWithSince})
	}
	return wrong
}

// Check returns a violation if q and updatedSince are combined.
func (in *CountInput) Check(given func(parameter string) bool) []fault.Field {
	if given("q") && given("updatedSince") {
		return []fault.Field{{Name: "updatedSince", Code: fault.ForbiddenCombination, Text: notWithQ}}
	}
	return nil
}

var (
	notWithQ      = i18n.Text("Not allowed together with q.")
	onlyInLists   = i18n.Text("Not allowed together with q or updatedSince.")
	notWithNear   = i18n.Text("Not allowed together with near.")
	onlyWithSince = i18n.Text("Only allowed together with updatedSince.")
)

// Count is the response of every record count.
type Count struct {
	Count  int64 `json:"count" min:"0" max:"10000" example:"128"`
	Capped bool  `json:"capped" example:"false"`
}

// Answer is the response of one record. T is its type in the OpenAPI document. The bytes come
// from the database unchanged.
type Answer[T any] struct {
	json     []byte
	revision int64
}

// Creation is the response of a call that created a record.
type Creation[T any] struct {
	Answer[T]
	location string
}

// Page is one page of a list of T and, in sync, of deletion markers.
type Page[T any] struct {
	json    []byte
	records int
}

// The methods Type and ItemType return the type of a response, for the OpenAPI draft.

// Type returns T.
func (Answer[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

// ItemType returns T.
func (Page[T]) ItemType() reflect.Type { return reflect.TypeFor[T]() }
