package webhook

import (
	"net/http"
	"testing"
	"time"

	"kartei/test/webhooktest"
)

func TestOfficialLibrariesVerify(t *testing.T) {
	body := []byte(`{"object":"event","id":"evt_1","data":{"object":"contact","id":"con_ä"}}`)
	now, before, other := secret(t), secret(t), secret(t)
	var deliveries []webhooktest.Delivery
	var want []bool
	for _, c := range []struct {
		secrets []Secret
		age     time.Duration
		body    string // that came; empty is that which was signed
		by      Secret
		want    bool
	}{
		{[]Secret{now}, 0, "", now, true},
		{[]Secret{now}, 0, "", other, false},
		{[]Secret{now}, 0, "", before, false},
		{[]Secret{now, before}, 0, "", now, true},
		{[]Secret{now, before}, 0, "", before, true},
		{[]Secret{now, before}, 0, "", other, false},
		{[]Secret{now}, 0, "{}", now, false},
		{[]Secret{now}, 4 * time.Minute, "", now, true},
		{[]Secret{now}, 6 * time.Minute, "", now, false},
		{[]Secret{now}, -6 * time.Minute, "", now, false},
	} {
		h := http.Header{}
		Sign(h, "evt_1", time.Now().Add(-c.age), body, c.secrets...)
		d := webhooktest.Received(c.by.Reveal(), h, body)
		if c.body != "" {
			d.Body = c.body
		}
		deliveries, want = append(deliveries, d), append(want, c.want)
	}
	webhooktest.Verify(t, deliveries, want)
}
