package lookup

import (
	"context"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
)

// maxTitles is the maximum number of ids in one call. A page of records refers to fewer other
// records.
const maxTitles = 200

// TitlesInput is the input of Titles.
type TitlesInput struct {
	// IDs are the ids of records, at most 200.
	IDs []string `json:"ids"`
}

// TitleEntry is the title of a record.
type TitleEntry struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// TitlesOf is the output of Titles.
type TitlesOf struct {
	Data []TitleEntry `json:"data"`
}

// Titles returns the titles of the records with the given ids. It leaves out records that the
// caller does not see.
var Titles = op.New("lookup.titles", op.Read, titles, op.By(op.Member))

func titles(ctx context.Context, c *op.Call, in TitlesInput) (TitlesOf, error) {
	if len(in.IDs) > maxTitles {
		return TitlesOf{}, fault.Invalid(fault.Field{Name: "ids", Code: fault.TooLong, Limit: fault.Items(maxTitles)})
	}
	out := TitlesOf{Data: []TitleEntry{}}
	for _, f := range allowed(c) {
		var ids []string
		for _, name := range in.IDs {
			if strings.HasPrefix(name, f.Prefix) {
				ids = append(ids, name)
			}
		}
		drafts, err := f.look(ctx, c, ids)
		if err != nil {
			return out, err
		}
		for _, d := range drafts {
			out.Data = append(out.Data, TitleEntry{d.ID, d.Title})
		}
	}
	return out, nil
}
