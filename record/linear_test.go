package record_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// clients is the number of concurrent clients. calls is the number of calls of each client.
const clients, calls = 6, 40

// eachAndReplicas runs f on each engine, and on two and three replicas that answer calls in turn.
func eachAndReplicas(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprintf("%d replicas", n), func(t *testing.T) {
			f(t, apitest.New(t, dbtest.Postgres(t), apitest.Replicas(n)))
		})
	}
}

// TestRevisionsAreLinearizable checks that concurrent reads, changes and deletions of a few
// contacts are linearizable. In the model, a contact is a register with compare-and-set on its
// revision. Each call takes effect at a time between its start and its end.
func TestRevisionsAreLinearizable(t *testing.T) {
	eachAndReplicas(t, func(t *testing.T, o *apitest.Office) {
		who := o.As(access.Member)
		ids := make([]string, 3)
		for i := range ids {
			ids[i] = who.Do("POST", "/contacts", `{"lastName":"new"}`).Want(201).Text("id")
		}
		first := seed.Of(t)
		check(t, register, record(func(client int, call func(func() (any, any))) {
			random := rand.New(rand.NewPCG(first, uint64(client)))
			seen := make([]int64, len(ids)) // the last revision that this client saw
			for n := range calls {
				i := random.IntN(len(ids))
				in := act{
					contact: ids[i], method: "PATCH", revision: max(1, seen[i]-int64(random.IntN(4)/3)),
					value: fmt.Sprintf("%d-%d", client, n),
				}
				switch n := random.IntN(40); {
				case n < 12:
					in.method = "GET"
				case n < 20:
					in.revision = 0 // any revision
				case n < 21:
					in.method = "DELETE"
				}
				call(func() (any, any) {
					out := in.do(who)
					seen[i] = max(seen[i], out.revision)
					return in, out
				})
			}
		}))
	})
}

// act is a call on a contact. revision is the revision in If-Match, or 0 for *.
type act struct {
	contact, method, value string
	revision               int64
}

// outcome is the response of a call: its status, and the revision and the name of the contact if
// the body has them.
type outcome struct {
	status   int
	revision int64
	value    string
}

func (a act) do(c *apitest.Client) outcome {
	match, body := "*", any(nil)
	if a.revision > 0 {
		match = fmt.Sprintf(`"r%d"`, a.revision)
	}
	if a.method == "GET" {
		match = ""
	}
	if a.method == "PATCH" {
		body = fmt.Sprintf(`{"lastName":%q}`, a.value)
	}
	answer := c.Do(a.method, "/contacts/"+a.contact, body, "If-Match", match)
	out := outcome{status: answer.Status}
	if answer.Status == 200 {
		v := answer.JSON()
		out.revision, out.value = int64(v["revision"].(float64)), v["lastName"].(string)
	}
	if answer.Status == 412 {
		out.revision = int64(answer.JSON()["currentRevision"].(float64))
	}
	return out
}

// state is the state of a contact in the model.
type state struct {
	revision int64
	value    string
	deleted  bool
}

// register is the model of a contact: a register with compare-and-set on its revision.
var register = porcupine.Model{
	Partition: partition(func(in any) string { return in.(act).contact }),
	Init:      func() any { return state{1, "new", false} },
	Step: func(s, in, out any) (bool, any) {
		now, call, got := s.(state), in.(act), out.(outcome)
		next := state{now.revision + 1, call.value, false}
		switch {
		case got.status == 429: // refused because of other clients; nothing changed
			return call.method != "GET", now
		case now.deleted:
			return got.status == 404, now
		case call.method == "GET":
			return got == outcome{200, now.revision, now.value}, now
		case call.revision != 0 && call.revision != now.revision:
			return got == outcome{412, now.revision, ""}, now
		case call.method == "DELETE":
			return got == outcome{204, 0, ""}, state{deleted: true}
		}
		return got == outcome{200, next.revision, next.value}, next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// TestIdempotencyIsLinearizable checks that concurrent creations with a few common keys are
// linearizable. Some of these have different bodies. Each key creates one contact. Later calls
// with the same body get the same bytes again. Only a call that overlaps another one with the
// same key may get the status 409.
func TestIdempotencyIsLinearizable(t *testing.T) {
	eachAndReplicas(t, func(t *testing.T, o *apitest.Office) {
		who := o.As(access.Member)
		first := seed.Of(t)
		history := record(func(client int, call func(func() (any, any))) {
			random := rand.New(rand.NewPCG(first, uint64(client)))
			for n := range calls {
				// The key depends on the number of the call. So several clients often use the
				// same new key at the same time.
				in := creation{key: strconv.Itoa(n/5*2 + random.IntN(2)), body: `{"lastName":"Berg"}`}
				if random.IntN(5) == 0 {
					in.body = `{"lastName":"Tal"}`
				}
				call(func() (any, any) { return in, in.do(who) })
			}
		})
		check(t, once, history)
		made := map[string]bool{}
		for i, op := range history {
			in, out := op.Input.(creation), op.Output.(reply)
			if out.status == 201 && !out.replayed {
				made[in.key] = true
			}
			if out.status == 409 && !overlaps(history, i) {
				t.Errorf("409 for key %s although no other call was using it", in.key)
			}
		}
		if n := who.Do("GET", "/contacts/count", nil).Want(200).JSON()["count"]; n != float64(len(made)) {
			t.Errorf("%v contacts, %d keys were used", n, len(made))
		}
	})
}

// overlaps reports whether another call with the same key ran at the same time as the call i.
func overlaps(history []porcupine.Operation, i int) bool {
	one := history[i]
	for j, other := range history {
		if j != i && other.Input.(creation).key == one.Input.(creation).key && other.Call < one.Return &&
			one.Call < other.Return {
			return true
		}
	}
	return false
}

type creation struct{ key, body string }

type reply struct {
	status   int
	replayed bool
	body     string
}

func (c creation) do(who *apitest.Client) reply {
	a := who.Do("POST", "/contacts", c.body, "Idempotency-Key", c.key)
	r := reply{status: a.Status, replayed: a.Header.Get("Idempotent-Replayed") == "true"}
	if a.Status == 201 {
		r.body = string(a.Body)
	}
	return r
}

// keyState is the state of an idempotency key: the body of its first request, and the body of the
// response.
type keyState struct{ sent, answered string }

// once is the model of an idempotency key.
var once = porcupine.Model{
	Partition: partition(func(in any) string { return in.(creation).key }),
	Init:      func() any { return keyState{} },
	Step: func(s, in, out any) (bool, any) {
		key, call, got := s.(keyState), in.(creation), out.(reply)
		switch {
		case got.status == 409 || got.status == 429:
			return true, key
		case key == keyState{}:
			return got.status == 201 && !got.replayed, keyState{call.body, got.body}
		case key.sent != call.body:
			return got.status == 422, key
		}
		return got == reply{201, true, key.answered}, key
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// record runs all clients at the same time. It returns the start, the end and the response of
// each call.
func record(act func(client int, call func(func() (any, any)))) []porcupine.Operation {
	var mu sync.Mutex
	var history []porcupine.Operation
	var working sync.WaitGroup
	begin := time.Now()
	for client := range clients {
		working.Go(func() {
			act(client, func(do func() (in, out any)) {
				called := time.Since(begin)
				in, out := do()
				returned := time.Since(begin)
				mu.Lock()
				defer mu.Unlock()
				history = append(history, porcupine.Operation{
					ClientId: client, Input: in, Call: int64(called), Output: out, Return: int64(returned),
				})
			})
		})
	}
	working.Wait()
	return history
}

// check fails the test if no order of the calls explains the responses.
func check(t *testing.T, model porcupine.Model, history []porcupine.Operation) {
	t.Helper()
	busy := 0
	for _, op := range history {
		if strings.Contains(fmt.Sprintf("%+v", op.Output), "status:429") {
			busy++
		}
	}
	if busy > len(history)/2 {
		t.Errorf("%d of %d calls were refused", busy, len(history))
	}
	for _, part := range model.Partition(history) {
		alone := model
		alone.Partition = nil
		if result := porcupine.CheckOperationsTimeout(alone, part, time.Minute); result != porcupine.Ok {
			var lines []string
			for _, op := range part {
				lines = append(lines, fmt.Sprintf("%9d %9d client %d: %s", op.Call, op.Return, op.ClientId,
					model.DescribeOperation(op.Input, op.Output)))
			}
			t.Errorf("no order explains these calls (%s):\n%s", result, strings.Join(lines, "\n"))
		}
	}
}

// partition returns a function that divides a history by the contact or the key of its calls.
func partition(about func(in any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		place := map[string]int{}
		for _, op := range history {
			name := about(op.Input)
			i, known := place[name]
			if !known {
				i = len(parts)
				place[name], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], op)
		}
		return parts
	}
}
