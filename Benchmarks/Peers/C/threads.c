// The cost of a thread with pthread_create and pthread_join: both calls together; the time from the call to the new
// thread's first instruction; the memory of a thread that only waits; the default stack.
#include "measure.h"

#include <pthread.h>
#include <semaphore.h>

static int64_t *delays;  // from the call to the first instruction, of each thread of the run, in nanoseconds
static sem_t gate, waiting;

static void *note_start(void *argument) {
  int64_t now = now_ns();
  int64_t *delay = argument;
  *delay = now - *delay;
  return NULL;
}

static void *wait_at_gate(void *unused) {
  (void)unused;
  sem_post(&waiting);
  while (sem_wait(&gate)) {}
  return NULL;
}

static pthread_t create(void *(*body)(void *), void *argument) {
  pthread_t thread;
  if ((errno = pthread_create(&thread, NULL, body, argument))) fail("pthread_create");
  return thread;
}

static long resident_bytes(void) {
  long total, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) fail("/proc/self/statm");
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

static long idle_bytes(int count) {
  pthread_t *threads = calloc(count, sizeof *threads);
  sem_init(&gate, 0, 0);
  sem_init(&waiting, 0, 0);
  long before = resident_bytes();
  for (int i = 0; i < count; i++) threads[i] = create(wait_at_gate, NULL);
  for (int i = 0; i < count; i++)
    while (sem_wait(&waiting)) {}
  long bytes = (resident_bytes() - before) / count;
  for (int i = 0; i < count; i++) sem_post(&gate);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  free(threads);
  return bytes;
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  int count = argc == 3 ? atoi(argv[1]) : 0, idle = argc == 3 ? atoi(argv[2]) : 0;
  if (count < 1 || idle < 1) complain("usage: c-threads COUNT IDLE");
  // The idle threads come first: the stacks that glibc keeps from ended threads would hide their memory.
  long bytes = idle_bytes(idle);
  delays = calloc(count, sizeof *delays);
  for (int i = 0; i < count / 10; i++) pthread_join(create(note_start, &delays[i]), NULL);
  usage before = usage_now();
  double total = 0;
  for (int i = 0; i < count; i++) {
    delays[i] = now_ns();
    pthread_join(create(note_start, &delays[i]), NULL);
    total += delays[i];
  }
  usage used = usage_since(before);
  qsort(delays, count, sizeof *delays, ascending);
  pthread_attr_t attributes;
  size_t stack = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &stack);
  printf("peer=pthread operations=%d seconds=%.6f rate=%.6f cpu=%.6f switches=%ld spawn_join_us=%.3f "
         "start_mean_us=%.3f start_median_us=%.3f idle_bytes=%ld stack_bytes=%zu\n",
         count, used.seconds, count / used.seconds / 1e6, used.cpu, used.switches, used.seconds / count * 1e6,
         total / count / 1e3, delays[count / 2] / 1e3, bytes, stack);
  return 0;
}
