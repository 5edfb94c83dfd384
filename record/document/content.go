package document

import (
	"context"
	"encoding/json"

	"kartei/api/op"
	"kartei/extract/filetype"
	"kartei/record"
	"kartei/record/upload"
)

// download returns the file of a document. It fails with NOT_FOUND if the actor does not see the
// document.
func download(ctx context.Context, c *op.Call, in op.ByID) (op.File, error) {
	f, created, err := Documents.Members(ctx, c, in.ID)
	if err != nil {
		return op.File{}, err
	}
	store, name := upload.Service.In(c).Store, Kept(c.Actor.Org(), in.ID)
	return op.File{
		Name: filetype.WithEnding(f.Name, f.ContentType), ContentType: f.ContentType, Size: f.Size, SHA256: f.SHA256,
		Created: created,
		Open:    func(ctx context.Context) (op.Content, error) { return store.Open(ctx, name) },
	}, nil
}

// File describes the file of a document, for code that reads the file from the store.
type File struct {
	// ID is the id of the document.
	ID string
	// Name is the file name under which a person can save the file.
	Name string
	// Stored is the name of the object in the blob store.
	Stored string
}

// FileOf returns the file of a document. It fails with NOT_FOUND if the actor does not see the
// document.
func FileOf(ctx context.Context, c *op.Call, name string) (File, error) {
	f, _, err := Documents.Members(ctx, c, name)
	if err != nil {
		return File{}, err
	}
	return fileOf(c, name, f), nil
}

// FilesOf returns the files of the documents that a walk returned, in the same order.
func FilesOf(c *op.Call, list []record.WalkRecord) ([]File, error) {
	files := make([]File, len(list))
	for i, w := range list {
		f := new(Fields)
		if err := json.Unmarshal(w.JSON, f); err != nil {
			return nil, err
		}
		files[i] = fileOf(c, w.ID, f)
	}
	return files, nil
}

func fileOf(c *op.Call, name string, f *Fields) File {
	return File{name, filetype.WithEnding(f.Name, f.ContentType), Kept(c.Actor.Org(), name)}
}
