// The journey of ../README.md with the client that openapi-generator writes for go.
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

// refused returns the problem with which a call was refused.
func refused(status int, answer *http.Response, err error) kartei.Problem {
	var refusal *kartei.GenericOpenAPIError
	check(errors.As(err, &refusal) && answer.StatusCode == status, "%d expected, got %v", status, err)
	problem, ok := refusal.Model().(kartei.Problem)
	check(ok, "%d is no problem that the client knows: %s", status, refusal.Body())
	return problem
}

// create sends a creation. If the call may be repeated, it is repeated with the
// same key.
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
	// The first server of the configuration is the instance that the document came from.
	configuration := kartei.NewConfiguration()
	configuration.AddDefaultHeader("Accept-Language", "en")
	api := kartei.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), kartei.ContextAccessToken, os.Getenv("KARTEI_KEY"))

	me, _, err := api.MetaAPI.MeGet(ctx).Execute()
	must(err)
	check(me.Key.Get() != nil && me.Key.Get().Environment == "test", "the key is %v", me.Key.Get())

	// All pages.
	count, _, err := api.ContactsAPI.ContactsCount(ctx).Execute()
	must(err)
	expected := int(count.Count)
	seen := map[string]bool{}
	for list := api.ContactsAPI.ContactsList(ctx).Limit(100); ; {
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

	// Create and read.
	email := rand.Text() + "@example.com"
	body := kartei.ContactCreate{}
	body.SetFirstName("Jana")
	body.SetLastName("Sommer")
	body.SetEmail(email)
	body.SetJobTitle("Notarin")
	created := create(func(key string) (*kartei.Contact, *http.Response, error) {
		return api.ContactsAPI.ContactsCreate(ctx).SvcPreview("true").IdempotencyKey(key).ContactCreate(body).Execute()
	})
	read, answer, err := api.ContactsAPI.ContactsGet(ctx, created.Id).Execute()
	must(err)
	check(read.GetFirstName() == "Jana" && read.GetLastName() == "Sommer" && read.GetEmail() == email, "stored is %+v", read)

	wrong := kartei.ContactCreate{}
	wrong.SetFirstName("Jana")
	wrong.SetEmail("nobody")
	_, refusal, err := api.ContactsAPI.ContactsCreate(ctx).SvcPreview("true").IdempotencyKey(rand.Text()).ContactCreate(wrong).Execute()
	problem := refused(422, refusal, err)
	check(problem.Code == "VALIDATION_FAILED", "a wrong email is %s", problem.Code)
	check(len(problem.Errors) == 1 && problem.Errors[0].Field == "email" && problem.Errors[0].Code == "INVALID_FORMAT",
		"a wrong email is told as %+v", problem.Errors)

	// Change, with the entity tag of the record. SetJobTitleNil clears a
	// member, and an unset member stays.
	tag := answer.Header.Get("ETag")
	patch := kartei.ContactPatch{}
	patch.SetLastName("Winter")
	patch.SetJobTitleNil()
	change := api.ContactsAPI.ContactsUpdate(ctx, created.Id).SvcPreview("true").IfMatch(tag)
	changed, answer, err := change.ContactPatch(patch).Execute()
	must(err)
	check(changed.GetLastName() == "Winter", "the last name is %s", changed.GetLastName())
	check(changed.GetFirstName() == "Jana", "the first name is %s", changed.GetFirstName())
	check(changed.JobTitle.Get() == nil, "the job title is %s", changed.GetJobTitle())
	patch = kartei.ContactPatch{}
	patch.SetLastName("Herbst")
	_, refusal, err = change.ContactPatch(patch).Execute()
	problem = refused(412, refusal, err)
	check(problem.Code == "PRECONDITION_FAILED", "a stale entity tag is %s", problem.Code)
	check(problem.GetCurrentRevision() == 2, "the current revision is %d", problem.GetCurrentRevision())

	// Delete.
	_, err = api.ContactsAPI.ContactsDelete(ctx, created.Id).SvcPreview("true").IfMatch(answer.Header.Get("ETag")).Execute()
	must(err)
	_, refusal, err = api.ContactsAPI.ContactsGet(ctx, created.Id).Execute()
	problem = refused(404, refusal, err)
	check(problem.Code == "NOT_FOUND", "a deleted contact is %s", problem.Code)

	// Changes since then, with deletions, until there are no more.
	before := created.CreatedAt.Add(-time.Minute)
	markers, changes := map[string]bool{}, 0
	for since := before; ; {
		page, _, err := api.ContactsAPI.ContactsList(ctx).UpdatedSince(since).IncludeDeleted(true).Sort("updatedAt").Limit(100).Execute()
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

	// The feed has the same changes. Its last page has a cursor too.
	var story []string
	events := api.EventsAPI.EventsList(ctx).CreatedSince(before).Sort("createdAt").Limit(100)
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

	// A document: open a session, send the file, create the document.
	file := []byte("Klage wegen Mietminderung: Die Heizung ist ausgefallen.\n")
	sum := sha256.Sum256(file)
	announced := kartei.UploadCreate{FileName: "Klage.txt", ContentType: "text/plain", Size: int64(len(file))}
	announced.SetSha256(hex.EncodeToString(sum[:]))
	upload := create(func(key string) (*kartei.Upload, *http.Response, error) {
		return api.UploadsAPI.UploadsCreate(ctx).SvcPreview("true").IdempotencyKey(key).UploadCreate(announced).Execute()
	})
	send(upload, file)
	operation := create(func(key string) (*kartei.Operation, *http.Response, error) {
		return api.DocumentsAPI.DocumentsCreate(ctx).SvcPreview("true").IdempotencyKey(key).
			DocumentCreate(kartei.DocumentCreate{UploadId: upload.Id}).Execute()
	})
	for operation.Status == "queued" || operation.Status == "running" {
		operation, answer, err = api.OperationsAPI.OperationsGet(ctx, operation.Id).Execute()
		must(err)
		wait, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		time.Sleep(time.Duration(wait) * time.Second)
	}
	check(operation.Status == "succeeded", "the operation is %s: %+v", operation.Status, operation.Error.Get())
	id := operation.Result.Get().Id
	content, _, err := api.DocumentsAPI.DocumentsContent(ctx, id).Execute()
	must(err)
	got, err := io.ReadAll(content)
	must(err)
	must(os.Remove(content.Name())) // the client stores a download in a temporary file
	check(bytes.Equal(got, file), "the document holds %q", got)
	_, answer, err = api.DocumentsAPI.DocumentsGet(ctx, id).Execute()
	must(err)
	_, err = api.DocumentsAPI.DocumentsDelete(ctx, id).SvcPreview("true").IfMatch(answer.Header.Get("ETag")).Execute()
	must(err)
}

// send sends the file to the address of the session.
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
