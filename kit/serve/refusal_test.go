package serve

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// TestAnswersAreNoRefusals checks that the response of a handler is sent unchanged, even if a write
// begins like a refusal of net/http.
func TestAnswersAreNoRefusals(t *testing.T) {
	like := "HTTP/1.1 417" + refusalHead
	body := bytes.Repeat([]byte(like), 200_000/len(like))
	s := start(t, limits, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(2*len(body)))
		w.(http.Flusher).Flush()
		w.Write(body)
		w.(http.Flusher).Flush()
		w.Write(body)
	})
	s.Refuse(func(int) []byte { return []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") })
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 3 { // all on one connection
		response, err := client.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !bytes.Equal(got, append(body[:len(body):len(body)], body...)) {
			t.Fatalf("%d bytes of %d, %v", len(got), 2*len(body), err)
		}
	}
}
