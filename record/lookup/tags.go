package lookup

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
)

// TagsInput is the input of Tags.
type TagsInput struct {
	// Family is the plural of a family of records.
	Family string `json:"family"`
	// Q is the beginning of a tag. If it is empty, all tags match.
	Q string `json:"q,omitempty"`
}

// TagList is the output of Tags.
type TagList struct {
	Data []string `json:"data"`
}

// usedTags has the function that returns the tags of a family, by its plural.
var usedTags = map[string]func(context.Context, *op.Call, string) ([]string, error){
	contact.Contacts.Plural: contact.Contacts.UsedTags, company.Companies.Plural: company.Companies.UsedTags,
	task.Tasks.Plural: task.Tasks.UsedTags, document.Documents.Plural: document.Documents.UsedTags,
}

// Tags returns the tags of a family's records in their order, at most eight. It leaves out tags
// that only private records have.
var Tags = op.New("lookup.tags", op.Read, tags, op.By(op.Member))

func tags(ctx context.Context, c *op.Call, in TagsInput) (TagList, error) {
	find := usedTags[in.Family]
	if find == nil {
		return TagList{}, fault.Invalid(fault.Field{Name: "family", Code: fault.NotInEnum})
	}
	if scope := in.Family + ":read"; !c.Actor.May(scope) {
		return TagList{}, access.Lacking(scope)
	}
	tags, err := find(ctx, c, in.Q)
	return TagList{Data: tags}, err
}
