import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Empty tasks in a pool: one thread submits them, each adds its number to one atomic word, the last signals that all
 * have run.
 */
final class Pools {
  private static final AtomicLong SUM = new AtomicLong();
  private static final Semaphore DONE = new Semaphore(0);
  private static volatile long wanted;

  private Pools() {}

  static void main(String kind, boolean submit, int threads, double seconds) throws Exception {
    ExecutorService pool = switch (kind) {
      case "executor" -> new ThreadPoolExecutor(threads, threads, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
      case "forkjoin" -> new ForkJoinPool(threads);
      default -> {
        Measure.complain("a pool is executor or forkjoin");
        yield null;
      }
    };
    if (submit) Measure.measure(kind + "-submit", seconds, n -> submitAll(n, pool));
    else Measure.measure(kind, seconds, n -> executeAll(n, pool));
  }

  private static void add(long number) {
    if (SUM.addAndGet(number) == wanted) DONE.release();
  }

  /** All numbers are above zero, so the sum is correct only if each has been added once. */
  private static void expect(long operations) {
    SUM.set(0);
    wanted = operations * (operations + 1) / 2;
  }

  private static Measure.Usage executeAll(long operations, ExecutorService pool) throws InterruptedException {
    expect(operations);
    for (long i = 1; i <= operations; i++) {
      long number = i;
      pool.execute(() -> add(number));
    }
    DONE.acquire();
    return Measure.Usage.now();
  }

  private static Measure.Usage submitAll(long operations, ExecutorService pool)
      throws InterruptedException, ExecutionException {
    expect(operations);
    Future<?>[] handles = new Future<?>[(int) operations];
    for (int i = 0; i < operations; i++) {
      long number = i + 1;
      handles[i] = pool.submit(() -> add(number));
    }
    for (Future<?> handle : handles) handle.get();
    DONE.acquire();
    return Measure.Usage.now();
  }
}
