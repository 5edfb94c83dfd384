package document

import (
	"context"

	"github.com/go-json-experiment/json"

	"kartei/store/blob"
	"kartei/store/db"
)

// filesPage is how many rows are read at a time.
const filesPage = 500

const (
	// countErasing repeats the condition of jobs_unique, so that index serves.
	countErasing = `select count(*) from jobs
		where organization = $1 and kind = $2 and key = $3 and key <> '' and state <> 'failed'`
	selectOpen = `select input from operations where organization = $1 and finished_at = 0`
)

// Files returns the bytes that an organization's documents must have, for
// identifiers after the given one, and the last identifier. An empty page is
// the last.
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

// HasFile reports whether a document has bytes.
func HasFile(ctx context.Context, tx db.Tx, organization int64, document string) (has bool, err error) {
	return exists(ctx, tx, `select count(*) from documents where organization = $1 and id = $2 and deleted = false`,
		organization, document)
}

// FilePending reports whether an operation is making a document of the bytes,
// or a job has yet to delete them. A failed operation does not need them.
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

// exists reports whether a counting query finds a row.
func exists(ctx context.Context, tx db.Tx, query string, args ...any) (bool, error) {
	var n int64
	err := tx.QueryRow(ctx, query, args...).Scan(&n)
	return n > 0, err
}
