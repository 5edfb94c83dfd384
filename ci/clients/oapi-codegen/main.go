// The journey of ../README.md with the client that oapi-codegen generates.
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

// ok ends the program if a call has failed. The client returns no error for a response with an
// error status.
func ok(answer *http.Response, body []byte, err error) {
	must(err)
	check(answer.StatusCode < 300, "%s: %s", answer.Status, body)
}

// refused returns the problem of a call that must fail with this status. The generated type for
// problems is the same for every status.
func refused(status int, answer *http.Response, problem *kartei.Problem) *kartei.Problem {
	check(answer.StatusCode == status && problem != nil, "%d expected, got %s", status, answer.Status)
	return problem
}

// create calls an operation that creates something. It retries after a status 429 or 503 or an
// error of the network, with the same idempotency key.
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
	j := &journey{context.Background(), newClient()}
	j.me()
	expected := j.allPages()
	created, tag := j.create()
	j.wrongEmail()
	tag = j.change(created, tag)
	j.delete(created, tag)
	before := created.CreatedAt.Add(-time.Minute)
	j.changesSince(before, created, expected)
	j.feed(before, created)
	j.document([]byte("Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n"))
}

// journey is a client with its context.
type journey struct {
	ctx context.Context
	api *kartei.ClientWithResponses
}

// newClient returns a client of the instance.
func newClient() *kartei.ClientWithResponses {
	// The generated client has no default for the URL of the instance, and no option for the key.
	api, err := kartei.NewClientWithResponses(os.Getenv("KARTEI_URL")+"/v1", kartei.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("KARTEI_KEY"))
			request.Header.Set("Accept-Language", "en")
			return nil
		}))
	must(err)
	return api
}

// me checks the environment of the key.
func (j *journey) me() {
	me, err := j.api.MeGetWithResponse(j.ctx)
	must(err)
	ok(me.HTTPResponse, me.Body, err)
	key, err := me.JSON200.Key.Get()
	check(err == nil && key.Environment == "test", "the key is %+v", key)
}

// allPages reads all pages of the list. It returns the number of contacts.
func (j *journey) allPages() (expected int) {
	count, err := j.api.ContactsCountWithResponse(j.ctx, nil)
	must(err)
	ok(count.HTTPResponse, count.Body, err)
	expected = int(count.JSON200.Count)
	seen := map[string]bool{}
	for list := (kartei.ContactsListParams{Limit: pointer[int32](100)}); ; {
		page, err := j.api.ContactsListWithResponse(j.ctx, &list)
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
	return expected
}

// create creates a contact and reads it. It returns the contact and its ETag.
func (j *journey) create() (*kartei.Contact, string) {
	email := rand.Text() + "@example.com"
	body := kartei.ContactCreate{
		FirstName: nullable.NewNullableWithValue("Jana"),
		LastName:  nullable.NewNullableWithValue("Sommer"),
		Email:     nullable.NewNullableWithValue(types.Email(email)),
		JobTitle:  nullable.NewNullableWithValue("Notarin"),
	}
	var created *kartei.Contact
	create(func(key string) (*http.Response, []byte, error) {
		answer, err := j.api.ContactsCreateWithResponse(j.ctx, &kartei.ContactsCreateParams{SvcPreview: "true", IdempotencyKey: key}, body)
		if err != nil {
			return nil, nil, err
		}
		created = answer.JSON201
		return answer.HTTPResponse, answer.Body, nil
	})
	read, err := j.api.ContactsGetWithResponse(j.ctx, created.Id, nil)
	must(err)
	ok(read.HTTPResponse, read.Body, err)
	stored := read.JSON200
	check(stored.FirstName.MustGet() == "Jana" && stored.LastName.MustGet() == "Sommer" && stored.Email.MustGet() == types.Email(email),
		"stored is %s", read.Body)
	return stored, read.HTTPResponse.Header.Get("ETag")
}

// wrongEmail checks that the server refuses an invalid email address. ContactsCreateWithResponse
// cannot send the address, because types.Email refuses it. Raw bytes get around this.
func (j *journey) wrongEmail() {
	_, err := json.Marshal(kartei.ContactCreate{Email: nullable.NewNullableWithValue(types.Email("nobody"))})
	check(err != nil, "the client lets a wrong email pass")
	wrong, err := j.api.ContactsCreateWithBodyWithResponse(j.ctx, &kartei.ContactsCreateParams{SvcPreview: "true", IdempotencyKey: rand.Text()},
		"application/json", bytes.NewReader([]byte(`{"firstName":"Jana","email":"nobody"}`)))
	must(err)
	problem := refused(422, wrong.HTTPResponse, wrong.ApplicationproblemJSON422)
	check(problem.Code == "VALIDATION_FAILED", "a wrong email is %s", problem.Code)
	fields := *problem.Errors
	check(len(fields) == 1 && fields[0].Field == "email" && fields[0].Code == "INVALID_FORMAT", "a wrong email is told as %+v", fields)
}

// change changes the contact with If-Match. Null clears a member, and an unset member does not
// change. change returns the new ETag.
func (j *journey) change(created *kartei.Contact, tag string) (changedTag string) {
	params := kartei.ContactsUpdateParams{SvcPreview: "true", IfMatch: tag}
	change, err := j.api.ContactsUpdateWithResponse(j.ctx, created.Id, &params, kartei.ContactPatch{
		LastName: nullable.NewNullableWithValue("Winter"),
		JobTitle: nullable.NewNullNullable[string](),
	})
	must(err)
	ok(change.HTTPResponse, change.Body, err)
	changed := change.JSON200
	check(changed.LastName.MustGet() == "Winter", "the last name is %s", changed.LastName.MustGet())
	check(changed.FirstName.MustGet() == "Jana", "the first name is %s", changed.FirstName.MustGet())
	check(changed.JobTitle.IsNull(), "the job title is %v", changed.JobTitle)
	stale, err := j.api.ContactsUpdateWithResponse(j.ctx, created.Id, &params, kartei.ContactPatch{LastName: nullable.NewNullableWithValue("Herbst")})
	must(err)
	problem := refused(412, stale.HTTPResponse, stale.ApplicationproblemJSON412)
	check(problem.Code == "PRECONDITION_FAILED", "a stale entity tag is %s", problem.Code)
	check(problem.CurrentRevision != nil && *problem.CurrentRevision == 2, "the current revision is %v", problem.CurrentRevision)
	return change.HTTPResponse.Header.Get("ETag")
}

// delete deletes the contact, and checks that it is gone.
func (j *journey) delete(created *kartei.Contact, tag string) {
	deleted, err := j.api.ContactsDeleteWithResponse(j.ctx, created.Id,
		&kartei.ContactsDeleteParams{SvcPreview: "true", IfMatch: tag})
	must(err)
	ok(deleted.HTTPResponse, deleted.Body, err)
	gone, err := j.api.ContactsGetWithResponse(j.ctx, created.Id, nil)
	must(err)
	problem := refused(404, gone.HTTPResponse, gone.ApplicationproblemJSON404)
	check(problem.Code == "NOT_FOUND", "a deleted contact is %s", problem.Code)
}

// changesSince reads the changes since a time, with deletions, until there are no more.
func (j *journey) changesSince(before time.Time, created *kartei.Contact, expected int) {
	markers, changes := map[string]bool{}, 0
	for since := before; ; {
		page, err := j.api.ContactsListWithResponse(j.ctx, &kartei.ContactsListParams{
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
}

// feed reads the events, which report the same changes. The last page of events has a cursor too.
func (j *journey) feed(before time.Time, created *kartei.Contact) {
	var story []string
	events := kartei.EventsListParams{CreatedSince: &before, Limit: pointer[int32](100), Sort: pointer(kartei.EventsListParamsSortCreatedAt)}
	for more := true; more; {
		feed, err := j.api.EventsListWithResponse(j.ctx, &events)
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
}

// document uploads a file, creates a document with it, and deletes the document.
func (j *journey) document(file []byte) {
	upload := j.announce(file)
	send(upload, file)
	operation := j.operation(upload)
	check(operation.Status == "succeeded", "the operation is %s: %+v", operation.Status, operation.Error)
	id := operation.Result.MustGet().Id
	content, err := j.api.DocumentsContentWithResponse(j.ctx, id, nil)
	must(err)
	check(bytes.Equal(content.Body, file), "the document holds %q", content.Body)
	document, err := j.api.DocumentsGetWithResponse(j.ctx, id, nil)
	must(err)
	ok(document.HTTPResponse, document.Body, err)
	removed, err := j.api.DocumentsDeleteWithResponse(j.ctx, id,
		&kartei.DocumentsDeleteParams{SvcPreview: "true", IfMatch: document.HTTPResponse.Header.Get("ETag")})
	must(err)
	ok(removed.HTTPResponse, removed.Body, err)
}

// announce opens an upload session for a file.
func (j *journey) announce(file []byte) (upload *kartei.Upload) {
	sum := sha256.Sum256(file)
	announced := kartei.UploadCreate{
		FileName: "Klage.txt", ContentType: "text/plain", Size: int64(len(file)),
		Sha256: nullable.NewNullableWithValue(hex.EncodeToString(sum[:])),
	}
	create(func(key string) (*http.Response, []byte, error) {
		answer, err := j.api.UploadsCreateWithResponse(j.ctx, &kartei.UploadsCreateParams{SvcPreview: "true", IdempotencyKey: key}, announced)
		if err != nil {
			return nil, nil, err
		}
		upload = answer.JSON201
		return answer.HTTPResponse, answer.Body, nil
	})
	return upload
}

// operation starts the creation of a document, and returns the operation when it has ended.
func (j *journey) operation(upload *kartei.Upload) (operation *kartei.Operation) {
	create(func(key string) (*http.Response, []byte, error) {
		answer, err := j.api.DocumentsCreateWithResponse(j.ctx, &kartei.DocumentsCreateParams{SvcPreview: "true", IdempotencyKey: key},
			kartei.DocumentCreate{UploadId: upload.Id})
		if err != nil {
			return nil, nil, err
		}
		operation = answer.JSON202
		return answer.HTTPResponse, answer.Body, nil
	})
	for operation.Status == "queued" || operation.Status == "running" {
		poll, err := j.api.OperationsGetWithResponse(j.ctx, operation.Id)
		must(err)
		ok(poll.HTTPResponse, poll.Body, err)
		operation = poll.JSON200
		wait, _ := strconv.Atoi(poll.HTTPResponse.Header.Get("Retry-After"))
		time.Sleep(time.Duration(wait) * time.Second)
	}
	return operation
}

// send sends the file to the URL of the upload session.
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
