package delivery

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"understudy/core"
)

// full is the error of a store that is at fault itself.
type full struct{ error }

func (full) StoreTrouble() bool { return true }

// A store in trouble is waited for, however long that takes; one that refuses
// what it is given is not.
func TestPostsOutlastTroubleOfTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []string
	}{"in trouble": {full{errors.New("no space")}, []string{"one"}}, "refusing": {errors.New("nonsense"), nil}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := &memory{}
				w := start(t, data, newFake())
				defer w.stop()
				held := 0
				w.Sender.c.Held = func(Row) { held++ }
				data.mu.Lock()
				data.fail = func(op string) error {
					if op == "mark" {
						return c.err
					}
					return nil
				}
				data.mu.Unlock()
				w.say(row("c", "t1", core.PostAnswer, 0, "one"))
				time.Sleep(time.Hour)
				w.expect("c")
				data.mu.Lock()
				data.fail = nil
				data.mu.Unlock()
				time.Sleep(troubleWait)
				synctest.Wait()
				w.expect("c", c.want...)
				if want := len(c.want); held != want {
					t.Errorf("held up %d posts, want %d", held, want)
				}
			})
		})
	}
}

// A sender that cannot read what is to be sent when it starts goes on trying.
func TestSenderStartsInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := &memory{rows: []Row{row("c", "t1", core.PostAnswer, 0, "left")}}
		data.rows[0].ID = 1
		tries := 0
		data.fail = func(op string) error {
			if tries++; op == "outgoing" && tries < 20 {
				return full{errors.New("no space")}
			}
			return nil
		}
		w := start(t, data, newFake())
		defer w.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.expect("c", "left")
	})
}
