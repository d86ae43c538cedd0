package io.orbitkv.cli.replay;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.core.client.Membership;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/** Replays a plan against a node Manager with processes of their own. Used by one thread. */
public final class ManagerReplay {

  private final ReplayPlan plan;
  private final Path socket;
  private final Progress progress;
  private final Consumer<String> notes;

  /**
   * @param plan what to replay
   * @param socket the Manager's
   * @param progress told of every prompt served
   * @param notes receives a line for what a person should know at once
   */
  public ManagerReplay(ReplayPlan plan, Path socket, Progress progress, Consumer<String> notes) {
    this.plan = plan;
    this.socket = socket;
    this.progress = progress;
    this.notes = notes;
  }

  /**
   * Runs the plan with this process as the scheduler of one engine, and a process for each of its ranks.
   *
   * @param incarnation of the engine
   * @param command makes the command line of a rank
   * @return what was counted
   * @throws InterruptedException if the thread was interrupted
   */
  public ReplayReport ranks(long incarnation, IntFunction<List<String>> command) throws InterruptedException {
    List<List<String>> commands = new ArrayList<>();
    for (int rank = 0; rank < plan.ranks(); rank++) {
      commands.add(command.apply(rank));
    }
    CacheOpener opener = () -> new CacheOpener.Opened(
        new ManagedCache(socket, new Membership(incarnation, Membership.SCHEDULER)), Optional.empty());
    return new Replay(plan, opener, progress, notes, tally -> ProcessRanks.start(commands, tally)).run();
  }

  /**
   * Runs the plan with engines in processes of their own, each of which serves its share of the prompts at the same time
   * as the others.
   *
   * @param engines how many
   * @param command makes the command line of an engine
   * @return what was counted, over all engines
   * @throws InterruptedException if the thread was interrupted; the engines are ended
   */
  public ReplayReport engines(int engines, IntFunction<List<String>> command) throws InterruptedException {
    ReplayTally tally = new ReplayTally(notes);
    List<WorkerProcess> workers = new ArrayList<>();
    try (ManagedCache cache = new ManagedCache(socket, Membership.whole())) {
      for (int engine = 0; engine < engines; engine++) {
        workers.add(new WorkerProcess("engine " + engine, command.apply(engine)));
      }
      workers.forEach(worker -> worker.await(Worker.READY, tally));
      tally.cacheOpened(0, Optional.empty());
      long start = System.nanoTime();
      awaitAll(workers, new Shared(tally));
      long elapsed = System.nanoTime() - start;
      tally.cacheClosing(plan.workload().prompts().size(), cache.stats());
      return tally.report(plan, elapsed);
    } finally {
      workers.forEach(WorkerProcess::close);
    }
  }

  private static void awaitAll(List<WorkerProcess> workers, Tally tally) throws InterruptedException {
    try (ExecutorService readers = Executors.newCachedThreadPool()) {
      List<Future<?>> ends = new ArrayList<>();
      for (WorkerProcess worker : workers) {
        worker.tell(Worker.GO);
        ends.add(readers.submit(() -> worker.await(Worker.DONE, tally)));
      }
      try {
        for (Future<?> end : ends) {
          end.get();
        }
      } catch (ExecutionException e) {
        // The others would be waited for when the executor closes.
        workers.forEach(WorkerProcess::close);
        throw e.getCause() instanceof RuntimeException failure
            ? failure
            : new UnavailableException("an engine cannot be read", e.getCause());
      }
    }
  }

  /** Counts for several workers at once. */
  private final class Shared implements Tally {

    private final Tally tally;
    private long served;

    Shared(Tally tally) {
      this.tally = tally;
    }

    @Override
    public synchronized void served(int blocks, int fromDram, int fromSsd) {
      tally.served(blocks, fromDram, fromSsd);
      progress.advanceTo(++served);
    }

    @Override
    public synchronized void lookup(long nanos) {
      tally.lookup(nanos);
    }

    @Override
    public synchronized void ssdWait(long nanos) {
      tally.ssdWait(nanos);
    }

    @Override
    public synchronized void restored(long bytes, long nanos) {
      tally.restored(bytes, nanos);
    }

    @Override
    public synchronized void saved(long bytes, long nanos) {
      tally.saved(bytes, nanos);
    }

    @Override
    public synchronized void lost(int blocks) {
      tally.lost(blocks);
    }

    @Override
    public synchronized void wrongPage(int request, int block, int rank, int layer) {
      tally.wrongPage(request, block, rank, layer);
    }
  }
}
