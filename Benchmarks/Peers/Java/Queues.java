import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;

/**
 * Elements moved through a queue. An element is always an object here: a boxed number, an object of eight numbers, a
 * new object of one number, or one of 1,024 existing objects.
 */
final class Queues {
  /** The capacity of the array that replaces an unbounded queue. */
  private static final int STAND_IN = 1 << 20;

  private Queues() {}

  record Wide(long first, long b, long c, long d, long e, long f, long g, long last) {}

  record Ref(long number) {}

  private interface Element {
    Object make(long number);

    long number(Object element);

    /** The count after which the numbers restart, if they do. */
    default long cycle() {
      return Long.MAX_VALUE;
    }
  }

  private static final Element WORD = new Element() {
    public Object make(long number) {
      return number;
    }

    public long number(Object element) {
      return (Long) element;
    }
  };

  private static final Element WIDE = new Element() {
    public Object make(long number) {
      return new Wide(number, 0, 0, 0, 0, 0, 0, 1);
    }

    public long number(Object element) {
      return ((Wide) element).first * ((Wide) element).last;
    }
  };

  private static final Element NEW = new Element() {
    public Object make(long number) {
      return new Ref(number);
    }

    public long number(Object element) {
      return ((Ref) element).number;
    }
  };

  private static final Ref[] OBJECTS = LongStream.range(0, 1024).mapToObj(Ref::new).toArray(Ref[]::new);

  private static final Element SHARED = new Element() {
    public Object make(long number) {
      return OBJECTS[(int) (number % OBJECTS.length)];
    }

    public long number(Object element) {
      return ((Ref) element).number;
    }

    public long cycle() {
      return OBJECTS.length;
    }
  };

  static void main(String kind, boolean playing, int capacity, int threads, String size, double seconds)
      throws Exception {
    Element element = switch (size) {
      case "8" -> WORD;
      case "64" -> WIDE;
      case "new" -> NEW;
      case "shared" -> SHARED;
      default -> {
        Measure.complain("an element is 8, 64, new or shared");
        yield null;
      }
    };
    BlockingQueue<Object> there = queue(kind, capacity);
    BlockingQueue<Object> back = queue(kind, capacity);
    if (playing) Measure.measure(kind, seconds, n -> pingpong(n, element, there, back));
    else Measure.measure(kind, seconds, n -> stream(n, threads, element, there));
  }

  private static BlockingQueue<Object> queue(String kind, int capacity) {
    return switch (kind) {
      case "array" -> new ArrayBlockingQueue<>(Math.min(capacity, STAND_IN));
      case "linked" -> new LinkedBlockingQueue<>(capacity);
      case "synchronous" -> new SynchronousQueue<>();
      default -> {
        Measure.complain("a queue is array, linked or synchronous");
        yield null;
      }
    };
  }

  /** The work of one thread; the threads of a run live until their context switches have been counted. */
  private interface Work {
    void run() throws InterruptedException;
  }

  private static Thread start(CountDownLatch ended, CountDownLatch release, Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run();
        ended.countDown();
        release.await();
      } catch (InterruptedException error) {
        Measure.check(false);
      }
    });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static Measure.Usage finish(CountDownLatch ended, CountDownLatch release, List<Thread> threads)
      throws InterruptedException {
    ended.await();
    Measure.Usage used = Measure.Usage.now();
    release.countDown();
    for (Thread thread : threads) thread.join();
    return used;
  }

  private static Measure.Usage stream(long operations, int threads, Element element, BlockingQueue<Object> queue)
      throws InterruptedException {
    long each = operations / threads;
    CountDownLatch ended = new CountDownLatch(2 * threads);
    CountDownLatch release = new CountDownLatch(1);
    AtomicLong sum = new AtomicLong();
    List<Thread> started = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      long first = thread;
      started.add(start(ended, release, () -> {
        for (long i = 0; i < each; i++) queue.put(element.make(first + i * threads));
      }));
      started.add(start(ended, release, () -> {
        long part = 0;
        for (long i = 0; i < each; i++) part += element.number(queue.take());
        sum.addAndGet(part);
      }));
    }
    Measure.Usage used = finish(ended, release, started);
    long count = each * threads;
    Measure.check(sum.get() == sum(count, element.cycle()));
    return used;
  }

  /** The sum of `count` numbers that restart at 0 after every `cycle` of them. */
  private static long sum(long count, long cycle) {
    if (count < cycle) return count * (count - 1) / 2;
    long rest = count % cycle;
    return count / cycle * (cycle * (cycle - 1) / 2) + rest * (rest - 1) / 2;
  }

  private static Measure.Usage pingpong(
      long operations, Element element, BlockingQueue<Object> there, BlockingQueue<Object> back)
      throws InterruptedException {
    CountDownLatch ended = new CountDownLatch(2);
    CountDownLatch release = new CountDownLatch(1);
    Thread echo = start(ended, release, () -> {
      for (long i = 0; i < operations; i++) back.put(there.take());
    });
    Thread player = start(ended, release, () -> {
      for (long i = 0; i < operations; i++) {
        there.put(element.make(i));
        Measure.check(element.number(back.take()) == i % element.cycle());
      }
    });
    return finish(ended, release, List.of(echo, player));
  }
}
