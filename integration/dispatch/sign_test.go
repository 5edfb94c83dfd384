package dispatch

import (
	"crypto/rand"
	"testing"
	"time"

	"kartei/integration/webhook"
)

func secret(t *testing.T) webhook.Secret {
	t.Helper()
	s, err := webhook.NewSecret(rand.Reader)
	if err != nil || len(s) != 32 {
		t.Fatal(len(s), err)
	}
	return s
}

// TestSpecificationsExample checks the signature in the specification's example, which has a secret
// of 24 bytes.
func TestSpecificationsExample(t *testing.T) {
	s, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := Signature("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`), s)
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
