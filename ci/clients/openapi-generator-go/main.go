// The journey of ../README.md with the client that openapi-generator generates for Go.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"time"

	"journey/kartei"
)

func check(holds bool, what string, values ...any) {
	if !holds {
		log.Fatalf("journey: "+what, values...)
	}
}

func must(err error) {
	if err != nil {
		var refusal *kartei.GenericOpenAPIError
		if errors.As(err, &refusal) {
			log.Fatalf("journey: %v: %s", err, refusal.Body())
		}
		log.Fatalf("journey: %v", err)
	}
}

// refused returns the problem of a call that must fail with this status.
func refused(status int, answer *http.Response, err error) kartei.Problem {
	var refusal *kartei.GenericOpenAPIError
	check(errors.As(err, &refusal) && answer.StatusCode == status, "%d expected, got %v", status, err)
	problem, ok := refusal.Model().(kartei.Problem)
	check(ok, "%d is no problem that the client knows: %s", status, refusal.Body())
	return problem
}

// create calls an operation that creates something. It retries after a status 429 or 503 or an
// error of the network, with the same idempotency key.
func create[T any](call func(key string) (T, *http.Response, error)) T {
	key := rand.Text()
	for attempt := 0; ; attempt++ {
		created, answer, err := call(key)
		again := err != nil && (answer == nil || answer.StatusCode == 429 || answer.StatusCode == 503)
		if !again || attempt == 4 {
			must(err)
			return created
		}
		wait := 1 << attempt
		if answer != nil {
			if told, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
				wait = told
			}
		}
		time.Sleep(time.Duration(wait) * time.Second)
	}
}

func main() {
	log.SetFlags(0)
	j := begin()
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

// journey is a client with its context. The context has the API key.
type journey struct {
	ctx context.Context
	api *kartei.APIClient
}

// begin returns a client of the instance.
func begin() *journey {
	// The default server of the configuration is the instance from which the document was
	// downloaded.
	configuration := kartei.NewConfiguration()
	configuration.AddDefaultHeader("Accept-Language", "en")
	api := kartei.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), kartei.ContextAccessToken, os.Getenv("KARTEI_KEY"))
	return &journey{ctx, api}
}

// me checks the environment of the key.
func (j *journey) me() {
	me, _, err := j.api.MetaAPI.MeGet(j.ctx).Execute()
	must(err)
	check(me.Key.Get() != nil && me.Key.Get().Environment == "test", "the key is %v", me.Key.Get())
}

// allPages reads all pages of the list. It returns the number of contacts.
func (j *journey) allPages() (expected int) {
	count, _, err := j.api.ContactsAPI.ContactsCount(j.ctx).Execute()
	must(err)
	expected = int(count.Count)
	seen := map[string]bool{}
	for list := j.api.ContactsAPI.ContactsList(j.ctx).Limit(100); ; {
		page, _, err := list.Execute()
		must(err)
		for _, item := range page.Data {
			seen[item.Id] = true
		}
		if !page.HasMore {
			break
		}
		list = list.Cursor(*page.NextCursor.Get())
	}
	check(len(seen) == expected, "%d contacts on all pages, %d by the count", len(seen), expected)
	return expected
}

// create creates a contact and reads it. It returns the contact and its ETag.
func (j *journey) create() (*kartei.Contact, string) {
	email := rand.Text() + "@example.com"
	body := kartei.ContactCreate{}
	body.SetFirstName("Jana")
	body.SetLastName("Sommer")
	body.SetEmail(email)
	body.SetJobTitle("Notarin")
	created := create(func(key string) (*kartei.Contact, *http.Response, error) {
		return j.api.ContactsAPI.ContactsCreate(j.ctx).SvcPreview("true").IdempotencyKey(key).ContactCreate(body).Execute()
	})
	read, answer, err := j.api.ContactsAPI.ContactsGet(j.ctx, created.Id).Execute()
	must(err)
	check(read.GetFirstName() == "Jana" && read.GetLastName() == "Sommer" && read.GetEmail() == email, "stored is %+v", read)
	return created, answer.Header.Get("ETag")
}

// wrongEmail checks that the server refuses an invalid email address.
func (j *journey) wrongEmail() {
	wrong := kartei.ContactCreate{}
	wrong.SetFirstName("Jana")
	wrong.SetEmail("nobody")
	_, refusal, err := j.api.ContactsAPI.ContactsCreate(j.ctx).SvcPreview("true").IdempotencyKey(rand.Text()).ContactCreate(wrong).Execute()
	problem := refused(422, refusal, err)
	check(problem.Code == "VALIDATION_FAILED", "a wrong email is %s", problem.Code)
	check(len(problem.Errors) == 1 && problem.Errors[0].Field == "email" && problem.Errors[0].Code == "INVALID_FORMAT",
		"a wrong email is told as %+v", problem.Errors)
}

// change changes the contact with If-Match. SetJobTitleNil clears a member, and an unset member
// does not change. change returns the new ETag.
func (j *journey) change(created *kartei.Contact, tag string) (changedTag string) {
	patch := kartei.ContactPatch{}
	patch.SetLastName("Winter")
	patch.SetJobTitleNil()
	change := j.api.ContactsAPI.ContactsUpdate(j.ctx, created.Id).SvcPreview("true").IfMatch(tag)
	changed, answer, err := change.ContactPatch(patch).Execute()
	must(err)
	check(changed.GetLastName() == "Winter", "the last name is %s", changed.GetLastName())
	check(changed.GetFirstName() == "Jana", "the first name is %s", changed.GetFirstName())
	check(changed.JobTitle.Get() == nil, "the job title is %s", changed.GetJobTitle())
	patch = kartei.ContactPatch{}
	patch.SetLastName("Herbst")
	_, refusal, err := change.ContactPatch(patch).Execute()
	problem := refused(412, refusal, err)
	check(problem.Code == "PRECONDITION_FAILED", "a stale entity tag is %s", problem.Code)
	check(problem.GetCurrentRevision() == 2, "the current revision is %d", problem.GetCurrentRevision())
	return answer.Header.Get("ETag")
}

// delete deletes the contact, and checks that it is gone.
func (j *journey) delete(created *kartei.Contact, tag string) {
	_, err := j.api.ContactsAPI.ContactsDelete(j.ctx, created.Id).SvcPreview("true").IfMatch(tag).Execute()
	must(err)
	_, refusal, err := j.api.ContactsAPI.ContactsGet(j.ctx, created.Id).Execute()
	problem := refused(404, refusal, err)
	check(problem.Code == "NOT_FOUND", "a deleted contact is %s", problem.Code)
}

// changesSince reads the changes since a time, with deletions, until there are no more.
func (j *journey) changesSince(before time.Time, created *kartei.Contact, expected int) {
	markers, changes := map[string]bool{}, 0
	for since := before; ; {
		page, _, err := j.api.ContactsAPI.ContactsList(j.ctx).UpdatedSince(since).IncludeDeleted(true).Sort("updatedAt").Limit(100).Execute()
		must(err)
		if len(page.Data) == 0 {
			break
		}
		for _, item := range page.Data {
			if item.GetDeleted() {
				since = item.GetDeletedAt()
				markers[item.Id] = true
			} else {
				since = item.GetUpdatedAt()
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
	events := j.api.EventsAPI.EventsList(j.ctx).CreatedSince(before).Sort("createdAt").Limit(100)
	for more := true; more; {
		feed, _, err := events.Execute()
		must(err)
		for _, event := range feed.Data {
			if event.Data.Id == created.Id {
				story = append(story, event.Type)
			}
		}
		more = feed.HasMore
		check(feed.NextCursor.Get() != nil, "the feed has no cursor to go on with")
		events = events.Cursor(*feed.NextCursor.Get())
	}
	check(reflect.DeepEqual(story, []string{"contact.created", "contact.updated", "contact.deleted"}), "the feed has %v", story)
}

// document uploads a file, creates a document with it, and deletes the document.
func (j *journey) document(file []byte) {
	sum := sha256.Sum256(file)
	announced := kartei.UploadCreate{FileName: "Klage.txt", ContentType: "text/plain", Size: int64(len(file))}
	announced.SetSha256(hex.EncodeToString(sum[:]))
	upload := create(func(key string) (*kartei.Upload, *http.Response, error) {
		return j.api.UploadsAPI.UploadsCreate(j.ctx).SvcPreview("true").IdempotencyKey(key).UploadCreate(announced).Execute()
	})
	send(upload, file)
	operation := create(func(key string) (*kartei.Operation, *http.Response, error) {
		return j.api.DocumentsAPI.DocumentsCreate(j.ctx).SvcPreview("true").IdempotencyKey(key).
			DocumentCreate(kartei.DocumentCreate{UploadId: upload.Id}).Execute()
	})
	for operation.Status == "queued" || operation.Status == "running" {
		current, answer, err := j.api.OperationsAPI.OperationsGet(j.ctx, operation.Id).Execute()
		must(err)
		operation = current
		wait, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		time.Sleep(time.Duration(wait) * time.Second)
	}
	check(operation.Status == "succeeded", "the operation is %s: %+v", operation.Status, operation.Error.Get())
	id := operation.Result.Get().Id
	content, _, err := j.api.DocumentsAPI.DocumentsContent(j.ctx, id).Execute()
	must(err)
	got, err := io.ReadAll(content)
	must(err)
	must(os.Remove(content.Name())) // The client stores a download in a temporary file.
	check(bytes.Equal(got, file), "the document holds %q", got)
	_, answer, err := j.api.DocumentsAPI.DocumentsGet(j.ctx, id).Execute()
	must(err)
	_, err = j.api.DocumentsAPI.DocumentsDelete(j.ctx, id).SvcPreview("true").IfMatch(answer.Header.Get("ETag")).Execute()
	must(err)
}

// send sends the file to the URL of the upload session.
func send(upload *kartei.Upload, file []byte) {
	request, err := http.NewRequest(upload.Method, upload.Url, bytes.NewReader(file))
	must(err)
	for name, value := range upload.Headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	must(err)
	defer answer.Body.Close()
	check(answer.StatusCode < 300, "the upload is %s", answer.Status)
}
