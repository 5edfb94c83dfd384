package dispatch

import (
	"net/http"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/test/webhooktest"
)

func TestOfficialLibrariesVerify(t *testing.T) {
	body := []byte(`{"object":"event","id":"evt_1","data":{"object":"contact","id":"con_ä"}}`)
	now, before, other := secret(t), secret(t), secret(t)
	var deliveries []webhooktest.Delivery
	var want []bool
	for _, c := range []struct {
		secrets []webhook.Secret
		age     time.Duration
		body    string // the received body; empty means the signed body
		by      webhook.Secret
		want    bool
	}{
		{[]webhook.Secret{now}, 0, "", now, true},
		{[]webhook.Secret{now}, 0, "", other, false},
		{[]webhook.Secret{now}, 0, "", before, false},
		{[]webhook.Secret{now, before}, 0, "", now, true},
		{[]webhook.Secret{now, before}, 0, "", before, true},
		{[]webhook.Secret{now, before}, 0, "", other, false},
		{[]webhook.Secret{now}, 0, "{}", now, false},
		{[]webhook.Secret{now}, 4 * time.Minute, "", now, true},
		{[]webhook.Secret{now}, 6 * time.Minute, "", now, false},
		{[]webhook.Secret{now}, -6 * time.Minute, "", now, false},
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
