// The Go peers of the thread benchmarks: channels, goroutines as a pool, timers.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

const usageText = `usage: go-threads queues go stream|pingpong CAPACITY|unbounded THREADS 8|64|new|shared SECONDS
       go-threads pools channel|goroutines THREADS SECONDS
       go-threads timers rates PENDING SECONDS
       go-threads timers lateness PENDING COUNT`

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 7 && arguments[0] == "queues":
		capacity := standIn
		if arguments[3] != "unbounded" {
			capacity = integer(arguments[3])
		}
		queues(arguments[2] == "pingpong", capacity, integer(arguments[4]), arguments[5], seconds(arguments[6]))
	case len(arguments) == 4 && arguments[0] == "pools":
		pools(arguments[1], integer(arguments[2]), seconds(arguments[3]))
	case len(arguments) == 4 && arguments[0] == "timers" && arguments[1] == "rates":
		timerRates(integer(arguments[2]), seconds(arguments[3]))
	case len(arguments) == 4 && arguments[0] == "timers" && arguments[1] == "lateness":
		timerLateness(integer(arguments[2]), integer(arguments[3]))
	default:
		complain(usageText)
	}
}

func integer(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		complain(usageText)
	}
	return value
}

func seconds(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value <= 0 {
		complain(usageText)
	}
	return value
}

func complain(line string) {
	fmt.Fprintln(os.Stderr, line)
	os.Exit(2)
}

// check exits if a result is wrong: the figures of a faulty run are meaningless.
func check(right bool) {
	if !right {
		fmt.Fprintln(os.Stderr, "go-threads: what came is not what was sent")
		os.Exit(1)
	}
}

type usage struct {
	wall     time.Time
	seconds  float64
	cpu      float64
	switches int64
}

func usageNow() usage {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return usage{
		wall:     time.Now(),
		cpu:      time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(),
		switches: u.Nvcsw + u.Nivcsw,
	}
}

func (before usage) until(now usage) usage {
	return usage{
		seconds: now.wall.Sub(before.wall).Seconds(), cpu: now.cpu - before.cpu, switches: now.switches - before.switches,
	}
}

// timed runs growing numbers of operations until a run takes `least` seconds, and returns that run's count and usage.
func timed(operations int, least float64, run func(int)) (int, usage) {
	for {
		before := usageNow()
		run(operations)
		used := before.until(usageNow())
		if used.seconds >= least {
			return operations, used
		}
		if used.seconds < least/8 {
			operations *= 8
		} else {
			operations *= 2
		}
	}
}

// measure warms up until a run takes a third of `seconds`, then runs as many operations as should take `seconds`, and
// prints the line for that run. A run that takes less than half the time is repeated.
func measure(peer string, seconds float64, run func(int)) {
	tried, used := timed(1024, seconds/3, run)
	operations := int(float64(tried)*seconds/used.seconds)/4*4 + 4
	operations, used = timed(operations, seconds/2, run)
	fmt.Printf("peer=%s operations=%d seconds=%.6f rate=%.6f cpu=%.6f switches=%d\n", peer, operations, used.seconds,
		float64(operations)/used.seconds/1e6, used.cpu, used.switches)
}
