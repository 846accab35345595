// Only a hand-off between two threads over a futex: the best that a queue of capacity 1 can reach if both threads share
// a processor. `stream`: one thread puts numbers into a slot, the other takes them (an operation is a number).
// `pingpong`: a number goes back and forth between two slots (an operation is a round trip).
#include "measure.h"

#include <pthread.h>

// The last two are the first two while a thread sleeps until the state changes.
enum { EMPTY, FULL, EMPTY_WAITED, FULL_WAITED };

typedef struct {
  _Atomic uint32_t state;
  uint64_t value;
} __attribute__((aligned(64))) place;

static place there, back;
static long operations_asked;

// Waits until the slot is `wanted` (EMPTY or FULL), without spinning, so that it behaves the same everywhere.
static void await(place *p, uint32_t wanted) {
  for (;;) {
    uint32_t seen = atomic_load_explicit(&p->state, memory_order_acquire);
    if ((seen & 1) == wanted) return;
    uint32_t waited = seen | 2;
    if (seen != waited && !atomic_compare_exchange_strong(&p->state, &seen, waited)) continue;
    futex_wait(&p->state, waited);
  }
}

static void change(place *p, uint32_t to) {
  if (atomic_exchange_explicit(&p->state, to, memory_order_acq_rel) & 2) futex_wake(&p->state);
}

static void put(place *p, uint64_t value) {
  await(p, EMPTY);
  p->value = value;
  change(p, FULL);
}

static uint64_t take(place *p) {
  await(p, FULL);
  uint64_t value = p->value;
  change(p, EMPTY);
  return value;
}

static void *producer(void *unused) {
  (void)unused;
  for (long i = 0; i < operations_asked; i++) put(&there, i);
  return NULL;
}

static void *echo(void *unused) {
  (void)unused;
  for (long i = 0; i < operations_asked; i++) put(&back, take(&there));
  return NULL;
}

static void with_thread(void *(*body)(void *), void (*rest)(long), long operations) {
  pthread_t thread;
  operations_asked = operations;
  if ((errno = pthread_create(&thread, NULL, body, NULL))) fail("pthread_create");
  rest(operations);
  pthread_join(thread, NULL);
}

static void check(int right) {
  if (right) return;
  fprintf(stderr, "handoff: a number is wrong\n");
  exit(1);
}

static void take_all(long operations) {
  for (long i = 0; i < operations; i++) check(take(&there) == (uint64_t)i);
}

static void play(long operations) {
  for (long i = 0; i < operations; i++) {
    put(&there, i);
    check(take(&back) == (uint64_t)i);
  }
}

static void stream(long operations) { with_thread(producer, take_all, operations); }
static void pingpong(long operations) { with_thread(echo, play, operations); }

int main(int argc, char **argv) {
  double seconds = argc == 3 ? atof(argv[2]) : 0;
  int is_stream = argc == 3 && !strcmp(argv[1], "stream");
  if (seconds <= 0 || (!is_stream && strcmp(argv[1], "pingpong"))) complain("usage: c-handoff stream|pingpong SECONDS");
  measure("futex", seconds, is_stream ? stream : pingpong);
  return 0;
}
