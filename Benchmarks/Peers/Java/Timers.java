import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Netty's HashedWheelTimer with many timers pending. A separate program, because only this one needs Netty's jar. */
public final class Timers {
  private static final TimerTask NEVER = timeout -> Measure.check(false);
  private static final int WARM_UP_ROUNDS = 8;

  private Timers() {}

  public static void main(String[] words) throws Exception {
    try {
      switch (words.length == 3 ? words[0] : "") {
        case "rates" -> rates(Integer.parseInt(words[1]), Double.parseDouble(words[2]));
        case "lateness" -> lateness(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        default -> Measure.complain("usage: Timers rates PENDING SECONDS\n       Timers lateness PENDING COUNT");
      }
    } catch (NumberFormatException error) {
      Measure.complain("Timers: a number is not right: " + error.getMessage());
    }
    System.exit(0); // the wheel's thread is still running
  }

  /** The same pseudo-random delays, one to two minutes, as the other programs use. */
  private static final class Delays {
    private long state = 1;

    long next() {
      state = state * 6364136223846793005L + 1442695040888963407L;
      return 60_000_000 + (state >>> 33) % 60_000_000;
    }
  }

  private static void schedule(HashedWheelTimer wheel, Timeout[] timers, int from, int to, Delays delays) {
    for (int i = from; i < to; i++) timers[i] = wheel.newTimeout(NEVER, delays.next(), TimeUnit.MICROSECONDS);
  }

  private static long heapBytes() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /**
   * With PENDING timers pending, cancels the oldest eighth of them and schedules as many new ones, repeatedly for
   * SECONDS.
   */
  private static void rates(int pending, double seconds) {
    HashedWheelTimer wheel = new HashedWheelTimer();
    Delays delays = new Delays();
    Timeout[] waiting = new Timeout[pending];
    int eighth = pending / 8;
    long before = heapBytes();
    schedule(wheel, waiting, 0, pending, delays);
    long bytes = (heapBytes() - before) / pending;

    double scheduling = 0;
    double cancelling = 0;
    long count = 0;
    Measure.Usage start = Measure.Usage.now();
    for (int round = 0; round <= WARM_UP_ROUNDS || scheduling + cancelling < seconds; round++) {
      if (round == WARM_UP_ROUNDS) {
        scheduling = cancelling = count = 0;
        start = Measure.Usage.now();
      }
      int from = round % 8 * eighth;
      long began = System.nanoTime();
      boolean cancelled = true;
      for (int i = from; i < from + eighth; i++) cancelled = waiting[i].cancel() && cancelled;
      long between = System.nanoTime();
      schedule(wheel, waiting, from, from + eighth, delays);
      scheduling += (System.nanoTime() - between) / 1e9;
      cancelling += (between - began) / 1e9;
      Measure.check(cancelled);
      count += eighth;
    }
    Measure.Usage used = Measure.Usage.now().since(start);
    System.out.printf(
        "peer=netty operations=%d seconds=%.6f schedule=%.6f cancel=%.6f cpu=%.6f switches=%d bytes=%d%n", 2 * count,
        used.seconds(), count / scheduling / 1e6, count / cancelling / 1e6, used.cpu(), used.switches(), bytes);
  }

  /** COUNT timers of 1 ms, one after another, while PENDING others wait; the wheel turns every millisecond. */
  private static void lateness(int pending, int count) throws InterruptedException {
    HashedWheelTimer wheel = new HashedWheelTimer(1, TimeUnit.MILLISECONDS);
    Timeout[] waiting = new Timeout[pending];
    schedule(wheel, waiting, 0, pending, new Delays());
    Semaphore fired = new Semaphore(0);
    double[] late = new double[count];
    int warmUp = Math.min(count, 200);
    Measure.Usage start = Measure.Usage.now();
    for (int i = -warmUp; i < count; i++) {
      if (i == 0) start = Measure.Usage.now();
      int index = Math.max(i, 0);
      long due = System.nanoTime() + 1_000_000;
      wheel.newTimeout(timeout -> {
        late[index] = (System.nanoTime() - due) / 1e3;
        fired.release();
      }, 1, TimeUnit.MILLISECONDS);
      fired.acquire();
    }
    Measure.Usage used = Measure.Usage.now().since(start);
    Arrays.sort(late);
    System.out.printf("peer=netty operations=%d seconds=%.6f median_us=%.3f p99_us=%.3f cpu=%.6f switches=%d%n", count,
        used.seconds(), late[count / 2], late[count * 99 / 100], used.cpu(), used.switches());
  }
}
