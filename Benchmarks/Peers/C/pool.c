// The simplest thread pool: a list of tasks under a mutex, a condition variable, a signal for each task. The tasks'
// numbers are summed with one atomic word; the last one signals that all have run.
#include "measure.h"

#include <pthread.h>
#include <semaphore.h>

typedef struct task {
  struct task *next;
  void (*body)(long argument);
  long argument;
} task;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static task *first, *last;

static _Atomic long sum;
static long wanted;
static sem_t done;

static void execute(void (*body)(long), long argument) {
  task *t = malloc(sizeof *t);
  if (!t) fail("malloc");
  *t = (task){NULL, body, argument};
  pthread_mutex_lock(&mutex);
  if (first) last->next = t;
  else first = t;
  last = t;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&arrived);
}

static void *worker(void *unused) {
  (void)unused;
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (!first) pthread_cond_wait(&arrived, &mutex);
    task *t = first;
    first = t->next;
    pthread_mutex_unlock(&mutex);
    t->body(t->argument);
    free(t);
  }
  return NULL;
}

static void add(long number) {
  if (atomic_fetch_add(&sum, number) + number == wanted) sem_post(&done);
}

// All numbers are above zero, so the sum is correct only if each has been added once.
static void run(long operations) {
  sum = 0;
  wanted = operations * (operations + 1) / 2;
  for (long i = 1; i <= operations; i++) execute(add, i);
  while (sem_wait(&done)) {}
}

int main(int argc, char **argv) {
  int threads = argc == 3 ? atoi(argv[1]) : 0;
  double seconds = argc == 3 ? atof(argv[2]) : 0;
  if (threads < 1 || seconds <= 0) complain("usage: c-pool THREADS SECONDS");
  sem_init(&done, 0, 0);
  for (int i = 0; i < threads; i++) {
    pthread_t thread;
    if ((errno = pthread_create(&thread, NULL, worker, NULL))) fail("pthread_create");
  }
  measure("pthread", seconds, run);
  return 0;
}
