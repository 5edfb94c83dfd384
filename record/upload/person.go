package upload

import (
	"context"

	"kartei/api/op"
	"kartei/extract/filetype"
	"kartei/kit/fault"
	"kartei/store/blob"
)

// People upload files on pages of the web application, where they are signed in. So no signed
// address is needed. The page handler forwards the bytes, even to a bucket.

// Terms are the accepted sizes and types of files. MaxSize is in bytes.
type Terms struct {
	MaxSize int64  `json:"maxSize"`
	Kinds   []Kind `json:"kinds"`
}

// Records returns 0, because the terms are the same for everyone.
func (Terms) Records() int { return 0 }

// Kind is an accepted type of files.
type Kind struct {
	ContentType string `json:"contentType"`
	// Endings are the usual extensions of such files, without a dot.
	Endings []string `json:"endings"`
}

// GetTerms is the operation that returns the accepted sizes and types of files.
var GetTerms = op.New("uploads.terms", op.Read, getTerms, op.By(op.Member))

func getTerms(_ context.Context, c *op.Call, _ struct{}) (Terms, error) {
	t := Terms{MaxSize: Service.In(c).MaxSize, Kinds: []Kind{}}
	for _, name := range Service.In(c).Types {
		t.Kinds = append(t.Kinds, Kind{name, filetype.Endings(name)})
	}
	return t, nil
}

// Ticket describes the file that a person may send for a session.
type Ticket struct {
	// Name is the name of the file in the blob store.
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	ContentType string `json:"contentType"`
	SHA256      string `json:"sha256"`
	// Credential is the id of the caller's credential.
	Credential string `json:"credential"`
	// Operation is the id of the operation that makes a document from the file. If it is set, the
	// session no longer accepts bytes.
	Operation string `json:"operation"`
}

// Records returns 0.
func (Ticket) Records() int { return 0 }

// Granted returns the ticket in the form that Receiver.Take needs.
func (t *Ticket) Granted() blob.Upload {
	return blob.Upload{Name: t.Name, Size: t.Size, ContentType: t.ContentType, SHA256: t.SHA256}
}

// GetTicket is the operation that returns the ticket for a session of the caller. It does not
// check whether the caller may upload. The receiver checks this when the bytes arrive.
var GetTicket = op.New("uploads.open", op.Read, getTicket, op.By(op.Member))

func getTicket(ctx context.Context, c *op.Call, in op.ByID) (Ticket, error) {
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
