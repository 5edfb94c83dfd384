package e2e

import (
	"testing"

	"kartei/test/webhooktest"
)

// TestDeliveriesVerify checks that the official libraries can verify deliveries of the binary. This
// holds before the rotation of the secret, and with both secrets in the overlap after it.
func TestDeliveriesVerify(t *testing.T) {
	t.Parallel()
	f, dir := newFarm(t, map[*behaviour]int{healthy: 1}), t.TempDir()
	h := newClusterWith(t, 1, f.flags(), "sqlite:"+dir+"/kartei.db", "--data-dir", dir)
	owner := f.settleIn(h)[0]
	r, s := owner.receivers[0], client{t, h.servers[0], owner.as.key}
	old := r.secret
	r.sends(s)
	rotated := s.call("POST", "/webhook_endpoints/"+r.id+"/rotate_secret", "", 200, "")
	r.mu.Lock()
	r.secret = rotated.Text("secret")
	r.mu.Unlock()
	r.sends(s)
	if r.secret == old || len(r.received) != 2 {
		t.Fatalf("%d deliveries", len(r.received))
	}
	before, after := r.received[0], r.received[1]
	before.Secret, after.Secret = old, old
	with := func(d webhooktest.Delivery, secret string) webhooktest.Delivery {
		d.Secret = secret
		return d
	}
	webhooktest.Verify(t, []webhooktest.Delivery{before, with(before, r.secret), after, with(after, r.secret)},
		[]bool{true, false, true, true})
}

// sends requests a test event and waits until the receiver gets it.
func (r *receiver) sends(s client) {
	r.Helper()
	id := s.call("POST", "/webhook_endpoints/"+r.id+"/test", "", 200, "").Text("eventId")
	r.until(func(saw map[string]visit) bool {
		_, came := saw[id]
		return came
	})
}
