package io.orbitkv.core.agent;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * One connection's transfers until they are reported, at most {@link AgentProtocol#MAX_TRANSFERS}. Two threads wait for
 * the device, one for loads and one for saves, so that a load is reported without waiting for the saves before it, and
 * a grant ends when its copies do, not when the engine asks next.
 *
 * <p>Used by the connection's thread.
 */
final class TransferTable implements AutoCloseable {

  private final FaultLog faults;
  private final Map<Long, EngineTransfer> transfers = new ConcurrentHashMap<>();
  private final BlockingQueue<EngineTransfer> drained = new LinkedBlockingQueue<>();
  private final Lane loads;
  private final Lane saves;
  private long lastNumber;

  TransferTable(FaultLog faults) {
    this.faults = faults;
    this.loads = new Lane("orbitkv-agent-loads");
    this.saves = new Lane("orbitkv-agent-saves");
  }

  /** Returns whether there is room for one more. */
  boolean hasRoom() {
    return transfers.size() < AgentProtocol.MAX_TRANSFERS;
  }

  /** Returns the number for the next transfer. */
  long nextNumber() {
    return ++lastNumber;
  }

  /** Takes a transfer whose copies are submitted. */
  void add(EngineTransfer transfer) {
    transfers.put(transfer.number(), transfer);
    switch (transfer) {
      case EngineLoad load -> loads.waiting.add(Optional.of(load));
      case EngineSave save -> saves.waiting.add(Optional.of(save));
    }
  }

  /** Returns a transfer that is not reported. */
  Optional<EngineTransfer> find(long number) {
    return Optional.ofNullable(transfers.get(number));
  }

  /** Hands over what is drained, and waits for the first of it. */
  List<EngineTransfer> report(int millis) throws InterruptedException {
    List<EngineTransfer> reports = new ArrayList<>();
    EngineTransfer first = millis == 0 ? drained.poll() : drained.poll(millis, TimeUnit.MILLISECONDS);
    if (first != null) {
      reports.add(first);
      drained.drainTo(reports);
    }
    for (EngineTransfer transfer : reports) {
      transfer.reported();
      transfers.remove(transfer.number());
    }
    return reports;
  }

  /** Returns when every copy is drained and every grant has ended. */
  @Override
  public void close() {
    loads.waiting.add(Optional.empty());
    saves.waiting.add(Optional.empty());
    boolean interrupted = loads.join() | saves.join();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** The transfers of one kind, waited for in the order in which they began. */
  private final class Lane {

    /** Bounded by the table. The empty one is the last. */
    final BlockingQueue<Optional<EngineTransfer>> waiting = new LinkedBlockingQueue<>();
    private final Thread thread;

    Lane(String name) {
      thread = Thread.ofPlatform().daemon().name(name).start(this::run);
    }

    private void run() {
      try {
        while (waiting.take().orElse(null) instanceof EngineTransfer transfer) {
          transfer.end(faults, () -> drained.add(transfer));
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException("nothing interrupts the thread that waits for copies", e);
      }
    }

    /** Waits for its end, and returns whether it was interrupted: that is no proof of drain. */
    boolean join() {
      boolean interrupted = false;
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return interrupted;
    }
  }
}
