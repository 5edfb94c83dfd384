package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	neturl "net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/seed"
	"kartei/test/waittest"

	"golang.org/x/oauth2"
)

// TestApplicationsSurviveKills lets two applications refresh their tokens all the time, while
// servers are killed with kill -9. On SQLite it kills the only server, on PostgreSQL one of two
// replicas. A response may get lost, but an application that retries is never logged out.
// KARTEI_KILLS is the number of kills.
func TestApplicationsSurviveKills(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, replicas int, more ...string) {
		dir := t.TempDir()
		store := append([]string{"--data-dir", dir}, more...)
		random := seed.Rand(t)
		servers := make([]*server, replicas)
		at := make([]string, replicas)
		var mu sync.Mutex
		begin := func(i int) {
			t.Helper()
			s, err := launchCommand(command(slices.Concat([]string{
				"serve", "--listen", at[i], "--operator-listen", "127.0.0.1:0", "--base-url", "http://" + at[0],
				"--guesses", "1000000", "--log-format", "json",
			}, store, ofReplica(dir, i))...))
			if err != nil {
				t.Fatal(err)
			}
			s.endsWith(t)
			mu.Lock()
			defer mu.Unlock()
			servers[i] = s
		}
		for i := range servers {
			at[i] = freePort(t)
			begin(i)
		}
		office := found(t, store...)
		boss := person{TB: t, server: servers[0]}
		boss.accept(append([]string{
			"user", "invite", "--org", office.ID, "--email", "boss@example.com", "--role", "admin",
		}, store...)...)
		a := application{t, servers[0]}
		config := a.register(a.discover())
		stop, failed := make(chan struct{}), make(chan error, 2)
		refreshed := make([]int, 2)
		for i := range refreshed {
			f := refresher{
				at: at, client: config.ClientID, held: a.connect(&boss, config, "contacts:read"),
				random: rand.New(rand.NewPCG(random.Uint64(), 0)),
			}
			go func() {
				n, err := f.run(stop)
				refreshed[i] = n
				failed <- err
			}()
		}
		for n := range times("KARTEI_KILLS", 3) {
			time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond)))) // at a random moment
			i := random.IntN(replicas)
			servers[i].kill()
			begin(i)
			t.Logf("kill %d", n+1)
		}
		close(stop)
		for range refreshed {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		t.Logf("%v refreshes", refreshed)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		each(t, 1)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		each(t, 2, "--database-url", dbtest.PostgresURL(t))
	})
}

// ofReplica returns the flags that replica i needs besides the flags of the first. It has its own
// data folder and shares the master key and the files.
func ofReplica(dir string, i int) []string {
	if i == 0 {
		return nil
	}
	return []string{
		"--data-dir", filepath.Join(dir, fmt.Sprint(i)), "--master-key-file",
		filepath.Join(dir, "master.key"), "--blob-url", "file:" + filepath.Join(dir, "files"),
	}
}

// refresher is an application that follows the rules for refresh tokens.
type refresher struct {
	at     []string
	client string
	held   *oauth2.Token
	random *rand.Rand
}

// run refreshes the token until stop is closed. It returns the number of refreshes.
func (f *refresher) run(stop <-chan struct{}) (n int, err error) {
	for ; ; n++ {
		select {
		case <-stop:
			return n, nil
		default:
		}
		if err := f.refresh(n + 1); err != nil {
			return n, err
		}
	}
}

// refresh refreshes the token once, and uses the new access token at any replica.
func (f *refresher) refresh(n int) error {
	var answer struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err := f.persist(func(base string) (int, error) {
		r, err := http.PostForm(base+"/oauth/token", neturl.Values{
			"grant_type":    {"refresh_token"},
			"client_id":     {f.client},
			"refresh_token": {f.held.RefreshToken},
		})
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		return r.StatusCode, json.NewDecoder(r.Body).Decode(&answer)
	}); err != nil {
		return fmt.Errorf("refresh %d: %w", n, err)
	}
	if answer.Refresh == "" || answer.Refresh == f.held.RefreshToken {
		return errors.New("the refresh token did not change")
	}
	f.held = &oauth2.Token{AccessToken: answer.Access, RefreshToken: answer.Refresh}
	if err := f.persist(func(base string) (int, error) {
		r, err := http.NewRequest(http.MethodGet, base+"/v1/me", http.NoBody)
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+f.held.AccessToken)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		got.Body.Close()
		return got.StatusCode, nil
	}); err != nil {
		return fmt.Errorf("a call after refresh %d: %w", n, err)
	}
	return nil
}

// persist repeats a call at random replicas until one succeeds. It returns an error for a final
// refusal. While servers start or end, a refusal is not final.
func (f *refresher) persist(call func(base string) (int, error)) error {
	for end := time.Now().Add(waittest.Bound); ; {
		status, err := call("http://" + f.at[f.random.IntN(len(f.at))])
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case err == nil && status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
			return fmt.Errorf("an honest application is refused with %d", status)
		case time.Now().After(end):
			return fmt.Errorf("no answer: %d %w", status, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestApplicationsWithoutDatabase checks the responses to applications while the database is
// stopped. They blame the server and have a Retry-After, and do not call the token invalid. When
// the database runs again, the same tokens work.
func TestApplicationsWithoutDatabase(t *testing.T) {
	t.Parallel()
	own, err := dbtest.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Remove)
	at, store := freePort(t), []string{"--data-dir", t.TempDir(), "--database-url", own.URL()}
	served, err := launchCommand(command(append([]string{
		"serve", "--listen", at, "--operator-listen", "127.0.0.1:0", "--base-url", "http://" + at,
		"--log-format", "json",
	}, store...)...))
	if err != nil {
		t.Fatal(err)
	}
	served.endsWith(t)
	office := found(t, store...)
	boss := person{TB: t, server: served}
	boss.accept(append([]string{
		"user", "invite", "--org", office.ID, "--email", "boss@example.com", "--role", "admin",
	}, store...)...)
	a := application{t, served}
	config := a.register(a.discover())
	f := refresher{
		at:     []string{at},
		client: config.ClientID,
		held:   a.connect(&boss, config, "contacts:read"),
		random: seed.Rand(t),
	}
	own.Stop()
	answer, err := http.PostForm("http://"+at+
		"/oauth/token", neturl.Values{
		"grant_type":    {"refresh_token"},
		"client_id":     {f.client},
		"refresh_token": {f.held.RefreshToken},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var refused struct{ Error string }
	if err := json.NewDecoder(answer.Body).Decode(&refused); err != nil ||
		answer.StatusCode != http.StatusServiceUnavailable || refused.Error != "temporarily_unavailable" ||
		answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %+v %v %v", answer.StatusCode, refused, answer.Header, err)
	}
	client{t, served, f.held.AccessToken}.call("GET", "/me", "", http.StatusServiceUnavailable, "INSTANCE_PENDING")
	restart(t, own)
	if err := f.refresh(1); err != nil {
		t.Error(err)
	}
}
