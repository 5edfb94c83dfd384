package webhook

import (
	"context"
	"errors"
	"slices"
	"unicode"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/record"
	"kartei/store/db"
)

// The operations below let people do what the API lets programs do. An operation that sends events
// out or reveals a secret needs a recent sign-in. A person creates only their own endpoints. An
// admin also changes, rotates and deletes the endpoints of service accounts, whose programs may be
// lost.
//
// The operator may do all of this for any principal. The endpoint still receives only events about
// records that its owner may read.

// manages is the scope that a person needs to manage endpoints.
const manages = "webhook_endpoints:write"

// maxName and maxTypes are the bounds of a person's input. The API has the same bounds in the tags
// of Fields.
const (
	maxName  = 200
	maxTypes = 100
)

// SecretAnswer is an endpoint in the only response that reveals its secret.
type SecretAnswer struct {
	ID string `json:"id"`
	// Text is the secret.
	Text string `json:"secret"`
	// PreviousSecretValidUntil is the time until which the previous secret signs. It is null if
	// there is no previous secret.
	PreviousSecretValidUntil *clock.Micros `json:"previousSecretValidUntil"`
}

// Secret implements op.Secret.
func (SecretAnswer) Secret() {}

// issued converts an output of the API to an output for people.
func issued(e EndpointWithSecret) SecretAnswer {
	return SecretAnswer{e.ID, e.Secret, e.PreviousSecretValidUntil}
}

// NewInput describes an endpoint that a person or the operator creates.
type NewInput struct {
	Fields
	// Organization and Principal identify the owner. Only the operator sets them.
	Organization string `json:"organizationId,omitempty"`
	Principal    string `json:"principalId,omitempty"`
}

// CreateByPerson is the operation that creates an endpoint of the person, or of the principal in
// the operator's input.
var CreateByPerson = op.New("webhooks.create", op.Administer, createByPerson, op.By(op.Self|op.Operator), op.Fresh,
	op.Gives, op.Audited("webhook.create"))

func createByPerson(ctx context.Context, c *op.Call, in NewInput) (SecretAnswer, error) {
	as, err := in.owner(ctx, c)
	if err != nil {
		return SecretAnswer{}, err
	}
	if err = in.Fields.check(as); err != nil {
		return SecretAnswer{}, err
	}
	made, err := create(ctx, as, CreateInput{in.Fields})
	if err != nil {
		return SecretAnswer{}, err
	}
	return issued(made.EndpointWithSecret), nil
}

// owner returns the call with the owner of the new endpoint as its actor. A person may only be the
// owner themselves.
func (in *NewInput) owner(ctx context.Context, c *op.Call) (*op.Call, error) {
	nobody := fault.Invalid(fault.Field{Name: "principalId", Code: fault.FieldNotFound})
	o, err := c.FindOrganization(ctx, in.Organization)
	switch {
	case err != nil:
		return nil, err
	case !c.IsOperator():
		if o.Number != c.Actor.Org() || in.Principal != "" && in.Principal != c.Actor.PrincipalID() {
			return nil, nobody
		}
		return c, nil
	case in.Principal == "":
		return nil, fault.Invalid(fault.Field{Name: "principalId", Code: fault.Required})
	}
	as, err := behalf(ctx, c, o.Number, in.Principal)
	if errors.Is(err, db.ErrNoRows) || err == nil && as.Actor.Disabled() {
		return nil, nobody
	}
	return as, err
}

// behalf returns a call with the rights of a principal, made by the operator. The audit log still
// has the operator as the caller.
func behalf(ctx context.Context, c *op.Call, organization int64, principal string) (*op.Call, error) {
	actor, err := access.PersonFor(ctx, c.Tx, organization, principal)
	if err != nil {
		return nil, err
	}
	as := *c
	as.Actor, as.Giver = actor, operatorGiver{c}
	return &as, nil
}

// operatorGiver gives access in the name of the operator, even if a principal is the actor of the
// call. So the notices say that the operator acted.
type operatorGiver struct{ *op.Call }

// Give implements op.Giver.
func (g operatorGiver) Give(ctx context.Context, _ *op.Call, gain op.Gain) error {
	return g.Gives(ctx, gain)
}

// ChangeInput changes the members of an endpoint that are not nil.
type ChangeInput struct {
	One
	Name       *string   `json:"name,omitempty"`
	URL        *string   `json:"url,omitempty"`
	EventTypes *[]string `json:"eventTypes,omitempty"`
}

// managed reads an endpoint that the caller may manage. It fails with NOT_FOUND for any other id.
// as is the call with the rights that apply. For the operator, these are the owner's rights.
func managed(ctx context.Context, c *op.Call, in *One) (r Row, as *op.Call, err error) {
	operator := c.IsOperator()
	if !operator {
		if err := mayManage(c); err != nil {
			return r, nil, err
		}
	}
	if r, err = in.find(ctx, c); err != nil || !operator {
		return r, c, err
	}
	as, err = behalf(ctx, c, r.Organization, r.Principal)
	return r, as, err
}

// ChangeByPerson is the operation that changes an endpoint.
var ChangeByPerson = op.New("webhooks.change", op.Administer, changeByPerson, op.By(op.Self|op.Operator), op.Gives,
	op.Audited("webhook.change"))

func changeByPerson(ctx context.Context, c *op.Call, in ChangeInput) (Endpoint, error) {
	r, as, err := managed(ctx, c, &in.One)
	if err != nil {
		return Endpoint{}, err
	}
	c.Audit.About(r.Organization, r.ID)
	after := r.Fields
	if in.Name != nil {
		after.Name = *in.Name
	}
	if in.URL != nil {
		after.URL = *in.URL
	}
	if in.EventTypes != nil {
		after.EventTypes = *in.EventTypes
	}
	if err := after.check(as); err != nil {
		return Endpoint{}, err
	}
	if err := r.change(ctx, as, after); err != nil {
		return Endpoint{}, err
	}
	return r.at(c.Now), nil
}

// within reports whether all types are in others.
func within(types, others []string) bool {
	return !slices.ContainsFunc(types, func(name string) bool { return !slices.Contains(others, name) })
}

// RotateByPerson is the operation that gives an endpoint a new secret.
var RotateByPerson = op.New("webhooks.rotate", op.Administer, rotateByPerson, op.By(op.Self|op.Operator), op.Fresh,
	op.Gives, op.Audited("webhook.rotate"))

func rotateByPerson(ctx context.Context, c *op.Call, in One) (SecretAnswer, error) {
	r, as, err := managed(ctx, c, &in)
	if err != nil {
		return SecretAnswer{}, err
	}
	made, err := r.rotate(ctx, as)
	return issued(made.EndpointWithSecret), err
}

// DeleteByPerson is the operation that deletes an endpoint.
var DeleteByPerson = op.New("webhooks.delete", op.Administer, deleteByPerson, op.By(op.Self|op.Operator),
	op.Audited("webhook.delete"))

func deleteByPerson(ctx context.Context, c *op.Call, in One) (op.Nothing, error) {
	r, _, err := managed(ctx, c, &in)
	if err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(r.Organization, r.ID)
	if err := r.delete(ctx, c); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, r.clear(ctx, c)
}

// TestByOperator is the operation that sends a test event to an endpoint, as the owner does through
// the API.
var TestByOperator = op.New("webhooks.test", op.Administer, testByOperator, op.By(op.Operator),
	op.Audited("webhook.test"))

func testByOperator(ctx context.Context, c *op.Call, in One) (TestOutput, error) {
	r, as, err := managed(ctx, c, &in)
	if err != nil {
		return TestOutput{}, err
	}
	c.Audit.About(r.Organization, r.ID)
	return sendTest(ctx, as, op.ByID{ID: r.ID})
}

// mayManage fails with FORBIDDEN if the person may not manage endpoints.
func mayManage(c *op.Call) error {
	if c.Actor.May(manages) {
		return nil
	}
	return access.Lacking(manages)
}

// check fails if the person may not have an endpoint with these members. One error has all faults.
func (f *Fields) check(c *op.Call) error {
	if err := mayManage(c); err != nil {
		return err
	}
	var wrong []fault.Field
	add := func(name string, code fault.FieldCode, limit any) {
		wrong = append(wrong, fault.Field{Name: name, Code: code, Limit: limit})
	}
	name := record.Clean(f.Name)
	switch {
	case name == "":
		add("name", fault.Required, nil)
	case utf8.RuneCountInString(name) > maxName:
		add("name", fault.TooLong, maxName)
	case slices.ContainsFunc([]rune(name), unicode.IsControl):
		add("name", fault.InvalidFormat, nil)
	case fault.Deceptive(name) != "":
		wrong = append(wrong, fault.Field{Name: "name", Code: fault.InvalidFormat, Text: fault.Deceptive(name)})
	}
	if f.URL == "" {
		add("url", fault.Required, nil)
	} else if _, err := CheckURL(record.Clean(f.URL), Service.In(c).Guard); err != nil {
		wrong = append(wrong, fault.From(err).Fields...)
	}
	types := event.Subscribable()
	switch unknown := func(name string) bool { return !slices.Contains(types, name) }; {
	case len(f.EventTypes) == 0:
		add("eventTypes", fault.Required, nil)
	case len(f.EventTypes) > maxTypes:
		add("eventTypes", fault.TooLong, fault.Items(maxTypes))
	case slices.ContainsFunc(f.EventTypes, unknown):
		add("eventTypes", fault.NotInEnum, types)
	}
	if len(wrong) > 0 {
		return fault.Invalid(wrong...)
	}
	return nil
}
