package queue_test

import (
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"

	"github.com/bedplate/bedplate/internal/queue"
)

// workers take objects from a queue that always has more, as those of a controller do, until it is shut down.
func workers(number int) (end func() (ended <-chan struct{})) {
	q := queue.New("test", workqueue.DefaultTypedControllerRateLimiter[int]())
	var working sync.WaitGroup
	for worker := range number {
		working.Go(func() {
			for n := 0; ; n += number {
				q.Add(n + worker)
				object, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(object)
			}
		})
	}
	return func() <-chan struct{} {
		q.ShutDown()
		ended := make(chan struct{})
		go func() { working.Wait(); close(ended) }()
		return ended
	}
}

// When a manager shuts down, each worker of each controller has to end, or the manager stays for its whole grace
// period.
func TestQueue_letsAllWorkersEndWhenItIsShutDown(t *testing.T) {
	t.Parallel()
	for range 200 {
		end := workers(20)
		time.Sleep(time.Millisecond) // any moment will do
		NewWithT(t).Eventually(end(), 10*time.Second).Should(BeClosed())
	}
}
