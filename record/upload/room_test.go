package upload_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestRoom checks that an organization may announce only a limited number of bytes without
// documents. A new document and the end of a session make room again. Other organizations have
// their own limit.
func TestRoom(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, colleague := o.As(access.Member), o.As(access.Member)
		_, sandbox := o.Organization("Kanzlei Abendroth")
		user := o.User(access.Admin, sandbox)
		stranger := &apitest.Client{Office: o, Principal: user, Key: o.Key(user)}
		file := bytes.Repeat([]byte("a"), apitest.MaxFile)
		first := open(c, len(file))
		c.Put(first, file).Want(204)
		o.Clock.Advance(time.Hour)
		body := `{"fileName":"a.txt","contentType":"text/plain","size":1}`
		const files = apitest.MaxStaged / apitest.MaxFile
		for range files / 2 {
			open(colleague, len(file))
		}
		if a := colleague.Do("POST", "/uploads", body, "Accept-Language", "en").Want(429,
			"QUOTA_EXHAUSTED"); !strings.Contains(a.Text("detail"), "your half") {
			t.Errorf("%s", a.Body)
		}
		for range files/2 - 1 {
			open(c, len(file))
		}
		words := map[string]bool{}
		for _, language := range []string{"de", "en"} {
			a := c.Do("POST", "/uploads", body, "Accept-Language", language).Want(429, "QUOTA_EXHAUSTED")
			words[a.Text("detail")] = true
			if got := fmt.Sprint(a.JSON()["violated-policies"]); got != "[uploads]" {
				t.Errorf("violated-policies %s", got)
			}
			if a.Header.Get("Retry-After") != "82800" { // until the first session ends
				t.Errorf("Retry-After %s", a.Header.Get("Retry-After"))
			}
		}
		if len(words) != 2 {
			t.Errorf("%v", words)
		}
		open(stranger, len(file))
		if got := document(c, first); got != "202" {
			t.Error(got)
		}
		open(c, len(file))
		c.Do("POST", "/uploads", body).Want(429, "QUOTA_EXHAUSTED")
		o.Clock.Advance(24 * time.Hour)
		c.Key = o.Key(c.Principal)
		open(c, len(file))
	})
}

// TestRoomOfEndedCredentials checks that the announcements of an ended key or session no longer
// count.
func TestRoomOfEndedCredentials(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for range 2 {
			taker := o.As(access.Member)
			for range apitest.MaxStaged / apitest.MaxFile / 2 {
				open(taker, apitest.MaxFile)
			}
			dbtest.Run(t, o.DB, `update api_keys set revoked_at = 1 where principal_id = $1`, taker.Principal)
			dbtest.Run(t, o.DB, `update sessions set ended_at = 1 where principal_id = $1`, taker.Principal)
		}
		open(c, apitest.MaxFile)
	})
}
