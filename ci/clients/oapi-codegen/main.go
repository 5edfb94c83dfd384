// The journey of ../README.md with the client that oapi-codegen writes.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/oapi-codegen/runtime/types"

	"journey/kartei"
)

func check(holds bool, what string, values ...any) {
	if !holds {
		log.Fatalf("journey: "+what, values...)
	}
}

func must(err error) {
	if err != nil {
		log.Fatalf("journey: %v", err)
	}
}

// ok ends the program if a call did not succeed. The client returns no error for a refusal.
func ok(answer *http.Response, body []byte, err error) {
	must(err)
	check(answer.StatusCode < 300, "%s: %s", answer.Status, body)
}

// refused returns the problem with which a call was refused. It has the same
// type for each status.
func refused(status int, answer *http.Response, problem *kartei.Problem) *kartei.Problem {
	check(answer.StatusCode == status && problem != nil, "%d expected, got %s", status, answer.Status)
	return problem
}

// create sends a creation. If the call may be repeated, it is repeated with the
// same key.
func create(call func(key string) (*http.Response, []byte, error)) {
	key := rand.Text()
	for attempt := 0; ; attempt++ {
		answer, body, err := call(key)
		again := err != nil || answer.StatusCode == 429 || answer.StatusCode == 503
		if !again || attempt == 4 {
			ok(answer, body, err)
			return
		}
		wait := 1 << attempt
		if err == nil {
			if told, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
				wait = told
			}
		}
		time.Sleep(time.Duration(wait) * time.Second)
	}
}

func pointer[T any](value T) *T { return &value }

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	// The client does not know the address of the instance, and sends no key by itself.
	api, err := kartei.NewClientWithResponses(os.Getenv("KARTEI_URL")+"/v1", kartei.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("KARTEI_KEY"))
			request.Header.Set("Accept-Language", "en")
			return nil
		}))
	must(err)

	me, err := api.MeGetWithResponse(ctx)
	must(err)
	ok(me.HTTPResponse, me.Body, err)
	key, err := me.JSON200.Key.Get()
	check(err == nil && key.Environment == "test", "the key is %+v", key)

	// All pages.
	count, err := api.ContactsCountWithResponse(ctx, nil)
	must(err)
	ok(count.HTTPResponse, count.Body, err)
	expected := int(count.JSON200.Count)
	seen := map[string]bool{}
	for list := (kartei.ContactsListParams{Limit: pointer[int32](100)}); ; {
		page, err := api.ContactsListWithResponse(ctx, &list)
		must(err)
		ok(page.HTTPResponse, page.Body, err)
		for _, item := range page.JSON200.Data {
			seen[item.Id] = true
		}
		if !page.JSON200.HasMore {
			break
		}
		list.Cursor = pointer(page.JSON200.NextCursor.MustGet())
	}
	check(len(seen) == expected, "%d contacts on all pages, %d by the count", len(seen), expected)

	// Create and read.
	email := rand.Text() + "@example.com"
	body := kartei.ContactCreate{
		FirstName: nullable.NewNullableWithValue("Jana"),
		LastName:  nullable.NewNullableWithValue("Sommer"),
		Email:     nullable.NewNullableWithValue(types.Email(email)),
		JobTitle:  nullable.NewNullableWithValue("Notarin"),
	}
	var created *kartei.Contact
	create(func(key string) (*http.Response, []byte, error) {
		answer, err := api.ContactsCreateWithResponse(ctx, &kartei.ContactsCreateParams{SvcPreview: "true", IdempotencyKey: key}, body)
		if err != nil {
			return nil, nil, err
		}
		created = answer.JSON201
		return answer.HTTPResponse, answer.Body, nil
	})
	read, err := api.ContactsGetWithResponse(ctx, created.Id, nil)
	must(err)
	ok(read.HTTPResponse, read.Body, err)
	stored := read.JSON200
	check(stored.FirstName.MustGet() == "Jana" && stored.LastName.MustGet() == "Sommer" && stored.Email.MustGet() == types.Email(email),
		"stored is %s", read.Body)

	// ContactsCreateWithResponse does not send a wrong email, because
	// types.Email refuses it. If it is sent in another way, the answer is a
	// problem.
	_, err = json.Marshal(kartei.ContactCreate{Email: nullable.NewNullableWithValue(types.Email("nobody"))})
	check(err != nil, "the client lets a wrong email pass")
	wrong, err := api.ContactsCreateWithBodyWithResponse(ctx, &kartei.ContactsCreateParams{SvcPreview: "true", IdempotencyKey: rand.Text()},
		"application/json", bytes.NewReader([]byte(`{"firstName":"Jana","email":"nobody"}`)))
	must(err)
	problem := refused(422, wrong.HTTPResponse, wrong.ApplicationproblemJSON422)
	check(problem.Code == "VALIDATION_FAILED", "a wrong email is %s", problem.Code)
	fields := *problem.Errors
	check(len(fields) == 1 && fields[0].Field == "email" && fields[0].Code == "INVALID_FORMAT", "a wrong email is told as %+v", fields)

	// Change, with the entity tag of the record. Null clears a member, and an
	// unset member stays.
	params := kartei.ContactsUpdateParams{SvcPreview: "true", IfMatch: read.HTTPResponse.Header.Get("ETag")}
	change, err := api.ContactsUpdateWithResponse(ctx, created.Id, &params, kartei.ContactPatch{
		LastName: nullable.NewNullableWithValue("Winter"),
		JobTitle: nullable.NewNullNullable[string](),
	})
	must(err)
	ok(change.HTTPResponse, change.Body, err)
	changed := change.JSON200
	check(changed.LastName.MustGet() == "Winter", "the last name is %s", changed.LastName.MustGet())
	check(changed.FirstName.MustGet() == "Jana", "the first name is %s", changed.FirstName.MustGet())
	check(changed.JobTitle.IsNull(), "the job title is %v", changed.JobTitle)
	stale, err := api.ContactsUpdateWithResponse(ctx, created.Id, &params, kartei.ContactPatch{LastName: nullable.NewNullableWithValue("Herbst")})
	must(err)
	problem = refused(412, stale.HTTPResponse, stale.ApplicationproblemJSON412)
	check(problem.Code == "PRECONDITION_FAILED", "a stale entity tag is %s", problem.Code)
	check(problem.CurrentRevision != nil && *problem.CurrentRevision == 2, "the current revision is %v", problem.CurrentRevision)

	// Delete.
	deleted, err := api.ContactsDeleteWithResponse(ctx, created.Id,
		&kartei.ContactsDeleteParams{SvcPreview: "true", IfMatch: change.HTTPResponse.Header.Get("ETag")})
	must(err)
	ok(deleted.HTTPResponse, deleted.Body, err)
	gone, err := api.ContactsGetWithResponse(ctx, created.Id, nil)
	must(err)
	problem = refused(404, gone.HTTPResponse, gone.ApplicationproblemJSON404)
	check(problem.Code == "NOT_FOUND", "a deleted contact is %s", problem.Code)

	// Changes since then, with deletions, until there are no more.
	before := created.CreatedAt.Add(-time.Minute)
	markers, changes := map[string]bool{}, 0
	for since := before; ; {
		page, err := api.ContactsListWithResponse(ctx, &kartei.ContactsListParams{
			UpdatedSince: &since, IncludeDeleted: pointer(true), Limit: pointer[int32](100),
			Sort: pointer(kartei.ContactsListParamsSortUpdatedAt),
		})
		must(err)
		ok(page.HTTPResponse, page.Body, err)
		if len(page.JSON200.Data) == 0 {
			break
		}
		for _, item := range page.JSON200.Data {
			if item.Deleted != nil {
				since = *item.DeletedAt
				markers[item.Id] = true
			} else {
				since = *item.UpdatedAt
				changes++
			}
		}
		check(len(markers)+changes <= 2*expected, "the same change comes again and again")
	}
	check(markers[created.Id], "no marker stands for the deleted contact")

	// The feed has the same changes. Its last page has a cursor too.
	var story []string
	events := kartei.EventsListParams{CreatedSince: &before, Limit: pointer[int32](100), Sort: pointer(kartei.EventsListParamsSortCreatedAt)}
	for more := true; more; {
		feed, err := api.EventsListWithResponse(ctx, &events)
		must(err)
		ok(feed.HTTPResponse, feed.Body, err)
		for _, event := range feed.JSON200.Data {
			if event.Data.Id == created.Id {
				story = append(story, event.Type)
			}
		}
		more = feed.JSON200.HasMore
		check(!feed.JSON200.NextCursor.IsNull(), "the feed has no cursor to go on with")
		events.Cursor = pointer(feed.JSON200.NextCursor.MustGet())
	}
	check(reflect.DeepEqual(story, []string{"contact.created", "contact.updated", "contact.deleted"}), "the feed has %v", story)

	// A document: open a session, send the file, create the document.
	file := []byte("Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n")
	sum := sha256.Sum256(file)
	announced := kartei.UploadCreate{
		FileName: "Klage.txt", ContentType: "text/plain", Size: int64(len(file)),
		Sha256: nullable.NewNullableWithValue(hex.EncodeToString(sum[:])),
	}
	var upload *kartei.Upload
	create(func(key string) (*http.Response, []byte, error) {
		answer, err := api.UploadsCreateWithResponse(ctx, &kartei.UploadsCreateParams{SvcPreview: "true", IdempotencyKey: key}, announced)
		if err != nil {
			return nil, nil, err
		}
		upload = answer.JSON201
		return answer.HTTPResponse, answer.Body, nil
	})
	send(upload, file)
	var operation *kartei.Operation
	create(func(key string) (*http.Response, []byte, error) {
		answer, err := api.DocumentsCreateWithResponse(ctx, &kartei.DocumentsCreateParams{SvcPreview: "true", IdempotencyKey: key},
			kartei.DocumentCreate{UploadId: upload.Id})
		if err != nil {
			return nil, nil, err
		}
		operation = answer.JSON202
		return answer.HTTPResponse, answer.Body, nil
	})
	for operation.Status == "queued" || operation.Status == "running" {
		poll, err := api.OperationsGetWithResponse(ctx, operation.Id)
		must(err)
		ok(poll.HTTPResponse, poll.Body, err)
		operation = poll.JSON200
		wait, _ := strconv.Atoi(poll.HTTPResponse.Header.Get("Retry-After"))
		time.Sleep(time.Duration(wait) * time.Second)
	}
	check(operation.Status == "succeeded", "the operation is %s: %+v", operation.Status, operation.Error)
	id := operation.Result.MustGet().Id
	content, err := api.DocumentsContentWithResponse(ctx, id, nil)
	must(err)
	check(bytes.Equal(content.Body, file), "the document holds %q", content.Body)
	document, err := api.DocumentsGetWithResponse(ctx, id, nil)
	must(err)
	ok(document.HTTPResponse, document.Body, err)
	removed, err := api.DocumentsDeleteWithResponse(ctx, id,
		&kartei.DocumentsDeleteParams{SvcPreview: "true", IfMatch: document.HTTPResponse.Header.Get("ETag")})
	must(err)
	ok(removed.HTTPResponse, removed.Body, err)
}

// send sends the file to the address of the session.
func send(upload *kartei.Upload, file []byte) {
	request, err := http.NewRequest(string(upload.Method), upload.Url, bytes.NewReader(file))
	must(err)
	for name, value := range upload.Headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	must(err)
	defer answer.Body.Close()
	check(answer.StatusCode < 300, "the upload is %s", answer.Status)
}
