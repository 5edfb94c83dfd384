package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"kartei/cmd/remote"
	"kartei/integration/webhook"
	"kartei/kit/clock"
)

// TestForwardToAnotherProtocol checks that a receiver that switches to another protocol does not
// block Post.
func TestForwardToAnotherProtocol(t *testing.T) {
	left := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(left)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, conn)
	}))
	defer receiver.Close()
	r, err := remote.NewReceiver(receiver.URL, webhook.Secret(make([]byte, 32)), clock.System)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, err := r.Post(ctx, remote.Event{ID: "evt_1", Body: []byte("{}")}); status != 101 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	<-left
}
