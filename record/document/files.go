package document

import (
	"context"

	"github.com/go-json-experiment/json"

	"kartei/store/blob"
	"kartei/store/db"
)

// filesPage is the number of rows that one call of Files reads.
const filesPage = 500

const (
	// countErasing repeats the condition of the partial index jobs_unique, so that this index
	// serves it.
	countErasing = `select count(*) from jobs
		where organization = $1 and kind = $2 and key = $3 and key <> '' and state <> 'failed'`
	selectOpen = `select input from operations where organization = $1 and finished_at = 0`
)

// Files returns the objects that the blob store must have for the documents of an organization.
// It returns the next objects after a document id, and the last id. After the last objects, the
// list is empty.
func Files(
	ctx context.Context, tx db.Tx, organization int64, after string,
) (list []blob.Reference, last string, err error) {
	rows, err := tx.Query(ctx, `select id, content from documents
		where organization = $1 and deleted = false and id > $2 order by id limit $3`, organization, after, filesPage)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	for rows.Next() {
		var content []byte
		if err := rows.Scan(&last, &content); err != nil {
			return nil, "", err
		}
		var f Fields
		if err := json.Unmarshal(content, &f); err != nil {
			return nil, "", err
		}
		list = append(list, blob.Reference{Name: Kept(organization, last), Size: f.Size, SHA256: f.SHA256})
	}
	return list, last, rows.Err()
}

// HasFile reports whether a document exists, so that its object must exist too.
func HasFile(ctx context.Context, tx db.Tx, organization int64, document string) (has bool, err error) {
	return exists(ctx, tx, `select count(*) from documents where organization = $1 and id = $2 and deleted = false`,
		organization, document)
}

// FilePending reports whether an operation is making a document from the object, or whether a job
// will delete it. The object of a failed operation is not needed.
func FilePending(ctx context.Context, tx db.Tx, organization int64, document string) (pending bool, err error) {
	pending, err = exists(ctx, tx, countErasing, organization, EraseKind, document)
	if pending || err != nil {
		return pending, err
	}
	inputs, err := db.Values[string](ctx, tx, selectOpen, organization)
	for _, input := range inputs {
		var m makeInput
		if err := json.Unmarshal([]byte(input), &m); err != nil {
			return false, err
		}
		if m.Document == document {
			return true, nil
		}
	}
	return false, err
}

// exists reports whether a counting query counts at least one row.
func exists(ctx context.Context, tx db.Tx, query string, args ...any) (bool, error) {
	var n int64
	err := tx.QueryRow(ctx, query, args...).Scan(&n)
	return n > 0, err
}
