package upload

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/extract/filetype"
	"kartei/kit/fault"
	"kartei/store/blob"
)

// People send files to their own pages, which know who they are. So no address is
// signed, and the page of a signed-in person passes the bytes on, also to a bucket.

// Terms say which files are taken.
type Terms struct {
	MaxSize int64  `json:"maxSize"`
	Kinds   []Kind `json:"kinds"`
}

// Records returns 0: the terms are the same for everyone.
func (Terms) Records() int { return 0 }

// Kind is a kind of files that is taken.
type Kind struct {
	ContentType string `json:"contentType"`
	// Endings are the extensions of its file names, without a dot.
	Endings []string `json:"endings"`
}

// GetTerms returns which files are taken.
var GetTerms = op.New("uploads.terms", op.Read, getTerms, op.By(op.Member))

func getTerms(_ context.Context, c *op.Call, _ struct{}) (Terms, error) {
	t := Terms{MaxSize: Service.In(c).MaxSize, Kinds: []Kind{}}
	for _, name := range Service.In(c).Types {
		t.Kinds = append(t.Kinds, Kind{name, filetype.Endings(name)})
	}
	return t, nil
}

// Ticket is what a person may send for a session.
type Ticket struct {
	// Name is the name of the bytes in the store.
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	ContentType string `json:"contentType"`
	SHA256      string `json:"sha256"`
	// Credential is the id of the caller's credential.
	Credential string `json:"credential"`
	// Operation already makes a document of the file. No bytes are taken then.
	Operation string `json:"operation"`
}

// Records returns 0.
func (Ticket) Records() int { return 0 }

// Granted returns what the ticket grants.
func (t *Ticket) Granted() blob.Upload {
	return blob.Upload{Name: t.Name, Size: t.Size, ContentType: t.ContentType, SHA256: t.SHA256}
}

// GetTicket returns what the caller may send for a session of their own. Whether
// they may upload at all is asked when the bytes come.
var GetTicket = op.New("uploads.open", op.Read, getTicket, op.By(op.Member))

func getTicket(ctx context.Context, c *op.Call, in access.ByID) (Ticket, error) {
	s, found, err := Find(ctx, c, in.ID)
	if err != nil {
		return Ticket{}, err
	}
	if !found {
		return Ticket{}, &fault.Fault{Code: fault.NotFound, Detail: over}
	}
	return Ticket{
		Name: Staged(c.Actor.Org(), in.ID), Size: s.Size, ContentType: s.ContentType, SHA256: s.SHA256,
		Credential: c.Actor.Credential().ID, Operation: s.Operation,
	}, nil
}
