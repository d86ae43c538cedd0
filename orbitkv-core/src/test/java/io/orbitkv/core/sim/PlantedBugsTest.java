package io.orbitkv.core.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/**
 * Shows that the simulator can see: each kind of fault that its invariants are about is planted in the core, and must
 * be found. A fault that is not found is a hole in the simulator.
 */
@Execution(ExecutionMode.CONCURRENT)
class PlantedBugsTest {

  static final List<PlantedBug> BUGS = List.of(

      // 1. A stored byte is reachable only through its exact key.

      new PlantedBug(1, "namespaces of one layout share their blocks", "machine/Blocks.java",
          "new ScopeName(namespace, group)", "new ScopeName(null, layout.shardBytes())"),
      new PlantedBug(1, "a block is looked for in another namespace", "machine/Blocks.java",
          "directory.find(scope.number(), chain, block)", "directory.find(0, chain, block)"),
      new PlantedBug(1, "a rank is given another rank's shard", "machine/Leases.java",
          "session.payloadAt() + (long) rank * scope.layout().shardBytes()", "session.payloadAt()"),

      // 2. Nothing is visible before it is complete and committed, in any tier.

      new PlantedBug(2, "a block is promoted before its parent", "machine/Arrivals.java",
          "if (parent == BlockTable.NONE || table.isResident(parent)) {", "if (parent >= BlockTable.NONE) {"),
      new PlantedBug(2, "a block is visible before all ranks committed", "machine/Arrivals.java",
          "return commits == crcs.length;", "return commits > 0;"),
      new PlantedBug(2, "a query is answered before its reads end", "machine/Queries.java",
          "if (ticket.missing == 0) {\n"
              + "      ready(ticket);",
          "if (ticket.hoped > 0) {\n"
              + "      ready(ticket);"),
      new PlantedBug(2, "a failed write counts as written", "machine/StoreWrites.java",
          "      if (status == StoreStatus.OK) {\n"
              + "        extents.written(row);",
          "      if (status != StoreStatus.CLOSED) {\n"
              + "        extents.written(row);"),
      new PlantedBug(2, "a block is written before its parent", "machine/StoreWrites.java",
          "    write(top);", "    write(row);"),
      new PlantedBug(2, "an extent is given up and its descendants' are forgotten", "machine/Extents.java",
          "      if (child != BlockTable.NONE) {\n"
              + "        stack.push(child);",
          "      if (child < BlockTable.NONE) {\n"
              + "        stack.push(child);"),
      new PlantedBug(2, "a block leaves memory before its children", "machine/MemoryTier.java",
          "table.holds(row) == 0 && table.memoryChildren(row) == 0", "table.holds(row) == 0"),

      new PlantedBug(2, "a namespace that was dropped keeps its names", "machine/Blocks.java",
          "      scopesByName.remove(new ScopeName(namespace, scope.group()));\n", ""),
      new PlantedBug(2, "a dropped block is still on the SSD", "machine/Purge.java",
          "    forEachRow(scopes, store::drop);\n", ""),

      // Saves from pages whose transfer did not end well: the rank gives up some shards or all, late or never.

      new PlantedBug(2, "a shard that was given up counts as copied", "machine/Saves.java",
          "      if (copied[i]) {", "      if (copied.length > 0) {"),
      new PlantedBug(2, "giving a shard up completes its block", "machine/Arrivals.java",
          "      granted[rank] = false;\n", "      granted[rank] = false;\n      commits++;\n"),
      new PlantedBug(2, "what a process left that is gone counts as copied", "machine/CacheCore.java",
          "        saves.end(save, SaveState.Event.PROVE_GONE, new int[save.blocks()], new boolean[save.blocks()], now());",
          "        boolean[] copied = new boolean[save.blocks()];\n"
              + "        java.util.Arrays.fill(copied, true);\n"
              + "        saves.end(save, SaveState.Event.PROVE_GONE, new int[save.blocks()], copied, now());"),
      new PlantedBug(7, "a save is ended by a word that comes after its end", "lifecycle/SaveState.java",
          "case ENDED -> throw new IllegalTransitionException(this, event);", "case ENDED -> ENDED;"),
      new PlantedBug(7, "a restore is ended by a word that comes after its end", "lifecycle/RestoreState.java",
          "case RETIRED -> throw new IllegalTransitionException(this, event);", "case RETIRED -> RETIRED;"),
      new PlantedBug(4, "a lost rank's late word ends its save", "lifecycle/SaveState.java",
          "        case PROVE_GONE -> ENDED;\n        default -> throw new IllegalTransitionException(this, event);",
          "        case PROVE_GONE, ABORT -> ENDED;\n        default -> throw new IllegalTransitionException(this, event);"),
      new PlantedBug(8, "a block of which a shard was given up waits for ever", "machine/Arrivals.java",
          "fill.writers == 0 && fill.deadline - now <= 0", "fill.writers < 0 && fill.deadline - now <= 0"),

      // 3. Knowing that bytes exist never authorises touching them.

      new PlantedBug(3, "any session can use a lease", "machine/Leases.java",
          "if (lease.session != session) {", "if (lease.session == null) {"),
      new PlantedBug(3, "a session that is gone is served", "machine/CacheCore.java",
          "if (session.state() != SessionState.OPEN) {\n"
              + "      throw",
          "if (session.state() == null) {\n"
              + "      throw"),

      new PlantedBug(3, "a lease can be used before it is handed over", "machine/CacheCore.java",
          "lease == null || !lease.handedOver ?", "lease == null ?"),

      // 4. Memory is used again only after proof that nothing was submitted, or of drain.

      new PlantedBug(4, "memory is not held while the SSD writes from it", "machine/StoreWrites.java",
          "    memory.hold(row);\n"
              + "    underWay++;",
          "    underWay++;"),
      new PlantedBug(4, "a leased block can leave", "machine/MemoryTier.java",
          "table.holds(row) == 0 && table.memoryChildren(row) == 0", "table.memoryChildren(row) == 0"),
      new PlantedBug(4, "closing a lease ends the restores under way", "machine/Leases.java",
          "lease.restores == 0 ? LeaseState.Event.CLOSE_IDLE : LeaseState.Event.CLOSE", "LeaseState.Event.CLOSE_IDLE"),
      new PlantedBug(4, "a lease that expires frees what a restore reads", "machine/Leases.java",
          "      close(lease);\n"
              + "    }\n"
              + "  }",
          "      close(lease);\n"
              + "      if (lease.state == LeaseState.DRAINING) {\n"
              + "        memory.release(lease.row);\n"
              + "      }\n"
              + "    }\n"
              + "  }"),
      new PlantedBug(4, "the first drain retires a lease", "machine/Leases.java",
          "lease.restores == 0 && lease.state == LeaseState.DRAINING", "lease.state == LeaseState.DRAINING"),
      new PlantedBug(4, "a lost session's saves are ended at once", "machine/CacheCore.java",
          "        save.on(SaveState.Event.LOSE);\n"
              + "      }\n"
              + "    }\n",
          "        save.hashCode();\n"
              + "      }\n"
              + "    }\n"
              + "    new ArrayList<>(session.saves).stream()\n"
              + "        .filter(save -> ranks.test(save.rank)).forEach(this::abort);\n"),
      new PlantedBug(4, "a lost session's restores are ended at once", "machine/CacheCore.java",
          "for (CoreRestore restore : session.restores) {\n"
              + "      if (ranks.test(restore.rank) && !restore.isQuarantined()) {\n"
              + "        restore.on(RestoreState.Event.LOSE);",
          "for (CoreRestore restore : new ArrayList<>(session.restores)) {\n"
              + "      if (ranks.test(restore.rank) && !restore.isQuarantined()) {\n"
              + "        leases.end(restore, RestoreState.Event.DRAIN);"),
      new PlantedBug(4, "a lost rank takes the others' saves along", "machine/CacheCore.java",
          "if (ranks.test(save.rank) && !save.isQuarantined()) {", "if (!save.isQuarantined()) {"),
      new PlantedBug(4, "a rank that is lost later keeps its restores", "machine/CacheCore.java",
          "if (ranks.test(restore.rank) && !restore.isQuarantined()) {",
          "if (ranks.test(restore.rank) && session.isIdle()) {"),
      new PlantedBug(4, "proof for one rank frees what another writes", "machine/CacheCore.java",
          "if (save.isQuarantined() && ranks.test(save.rank)) {", "if (save.isQuarantined()) {"),
      new PlantedBug(4, "proof for a rank ends the restores of one that lives", "machine/CacheCore.java",
          "if (restore.isQuarantined() && ranks.test(restore.rank)) {", "if (ranks.test(restore.rank)) {"),
      new PlantedBug(4, "one proof closes a lost session", "machine/CacheCore.java",
          "if (ending && session.isIdle()) {", "if (session.state() == SessionState.LOST || ending && session.isIdle()) {"),
      new PlantedBug(4, "a dropped block takes memory from the write to the SSD", "machine/MemoryTier.java",
          "while (next != BlockTable.NONE && table.flag(next, BlockTable.FLAG_RELEASED)) {",
          "while (next != BlockTable.NONE && table.isResident(next) && table.memoryChildren(next) == 0) {"),
      new PlantedBug(4, "a dropped block stays in memory when its write has ended", "machine/MemoryTier.java",
          "    if (blocks.isDropped(row)) {", "    if (row < 0) {"),
      new PlantedBug(4, "a block that is dropped takes memory from its writers", "machine/Arrivals.java",
          "        if (fill.writers == 0) {\n"
              + "          memory.free(at);",
          "        if (fill.writers >= 0) {\n"
              + "          memory.free(at);"),
      new PlantedBug(4, "a segment is emptied under its readers", "machine/Emptying.java",
          " || victim.inFlight > 0) {", ") {"),
      new PlantedBug(8, "the segment kept for carrying over is activated ahead", "machine/Segments.java",
          "next == null && activating == null && free > 1", "next == null && activating == null && free > 0"),
      new PlantedBug(8, "a segment is activated ahead of each that is ahead", "machine/Segments.java",
          "next == null && activating == null && free > 1", "activating == null && free > 1"),
      new PlantedBug(8, "a segment that was activated ahead is forgotten", "machine/Segments.java",
          "    open = next;\n", "    open = null;\n"),
      new PlantedBug(4, "a segment is emptied before its extents have moved", "machine/Emptying.java",
          "victim.rows.size() > 0 || victim.liveBytes > 0 || ", "victim.rows.size() > 0 || "),
      new PlantedBug(4, "a staging extent is not given back", "machine/Emptying.java",
          "    } else {\n"
              + "      memory.free(carry.memoryAt);",
          "    } else {\n"
              + "      memory.pool();"),

      new PlantedBug(4, "quarantined memory is not counted", "machine/CacheCore.java",
          "if (session.state() == SessionState.LOST) {", "if (session.state() == SessionState.CLOSING) {"),

      // 5. Validation precedes consumption; a rejected operation leaves no trace.

      new PlantedBug(5, "a refused restore uses up its rank's share", "machine/Leases.java",
          "    if (lease.session != session) {",
          "    if (lease.session != session) {\n"
              + "      lease.taken.set(rank);"),
      new PlantedBug(5, "a refused query cancels the one before it", "machine/Queries.java",
          "      if (id.revision() < earlier.id.revision()) {",
          "      if (id.revision() < earlier.id.revision()) {\n"
              + "        cancel(earlier);"),
      new PlantedBug(5, "a query that is too early leaves its tables", "machine/Queries.java",
          "    ticket.on(event);\n"
              + "    ticket.session.tickets.remove(ticket.id.operation(), ticket);\n"
              + "    live.remove(ticket);",
          "    ticket.session.tickets.remove(ticket.id.operation(), ticket);\n"
              + "    live.remove(ticket);\n"
              + "    ticket.on(event);"),
      new PlantedBug(5, "a busy query is charged", "machine/Queries.java",
          "      busy(ticket, total.limit() +",
          "      total.charge(1);\n"
              + "      busy(ticket, total.limit() +"),

      new PlantedBug(5, "a namespace is dropped under its sessions", "machine/CacheCore.java",
          "if (session.scope.namespace().equals(namespace)) {", "if (session.scope.namespace() == null) {"),

      // 6. Cancelling drops interest, never submitted work.

      new PlantedBug(6, "a block that nobody can see takes memory from its read", "machine/Arrivals.java",
          "case LOADING -> store.detachRead(row);",
          "case LOADING -> {\n"
              + "        store.detachRead(row);\n"
              + "        memory.free(at);\n"
              + "      }"),
      new PlantedBug(6, "closing a session ends its saves", "machine/CacheCore.java",
          "    dropInterests(session);\n"
              + "    session.on(",
          "    dropInterests(session);\n"
              + "    new ArrayList<>(session.saves).forEach(this::abort);\n"
              + "    session.on("),

      // 7. What is superseded can neither read nor release its successor's state.

      new PlantedBug(7, "reads of a cancelled query still answer it", "machine/Queries.java",
          "if (ticket.state == TicketState.PENDING && --ticket.missing == 0) {", "if (--ticket.missing == 0) {"),
      new PlantedBug(7, "a failed read of a cancelled query moves its hold", "machine/Queries.java",
          "if (ticket.state != TicketState.PENDING) {", "if (ticket.state == null) {"),
      new PlantedBug(7, "a replaced query lives on", "machine/Queries.java",
          "      cancel(earlier);\n"
              + "    } else",
          "      polled(earlier, now);\n"
              + "    } else"),
      new PlantedBug(7, "a token ends the request that has its slot now", "machine/StoreRequests.java",
          " || generations.get(slot) != (int) (token >>> 32)", ""),
      new PlantedBug(7, "a write of an extent that was given up commits it", "machine/Extents.java",
          "write.abandoned = true;", "write.abandoned = false;"),
      new PlantedBug(7, "an extent that was given up is carried over", "machine/Extents.java",
          "    if (carry.row == row) {", "    if (carry.row < 0) {"),
      new PlantedBug(7, "an extent that was carried over is read where it was", "machine/Extents.java",
          "    vacate(row);\n"
              + "    place(row, to, offset);\n",
          "    long old = table.storeAt(row);\n"
              + "    vacate(row);\n"
              + "    place(row, to, offset);\n"
              + "    table.storeAt(row, old);\n"),
      new PlantedBug(7, "recovery prefers the older copy", "machine/Recovery.java",
          "generations[at] < generation;", "generations[at] > generation;"),

      // 8. Every table and wait has a bound and a deadline.

      new PlantedBug(8, "queries of a session have no bound", "machine/Queries.java",
          "session.tickets.size() >= limits.ticketsPerSession()", "session.tickets.size() < 0"),
      new PlantedBug(8, "queries have no bound", "machine/Queries.java",
          "live.size() >= limits.tickets()", "live.size() < 0"),
      new PlantedBug(8, "pending queries become leases over the bound", "machine/Queries.java",
          "session.leases.size() + session.pendingTickets() >=", "session.leases.size() >="),
      new PlantedBug(8, "saves of a session have no bound", "machine/Saves.java",
          "session.saves.size() < limits.savesPerSession()", "session.saves.size() >= 0"),
      new PlantedBug(8, "sessions have no bound", "machine/CacheCore.java",
          "sessions.size() >= limits.sessions()", "sessions.size() < 0"),
      new PlantedBug(8, "leases have no budget", "machine/Budget.java",
          "return bytes <= limit - used;", "return bytes <= limit;"),
      new PlantedBug(8, "what a session saves has no bound", "machine/Saves.java",
          "session.fillBudget.used() == 0 || session.fillBudget.fits(session.scope.recordBytes())",
          "session.fillBudget.used() >= 0"),
      new PlantedBug(8, "a block that is visible is still paid for", "machine/Arrivals.java",
          "      memory.promote(row);\n      refund(row);\n",
          "      memory.promote(row);\n"),
      new PlantedBug(8, "a block that a rank still writes is not paid for", "machine/Arrivals.java",
          "          paying.remove(row);\n",
          "          refund(row);\n"),
      new PlantedBug(8, "writes have no bound", "machine/StoreWrites.java",
          "underWay < limit() && segments.ensureOpen(false)", "segments.ensureOpen(false)"),
      new PlantedBug(8, "an eviction that was asked for takes everything", "machine/CacheCore.java",
          "while (freed < bytes) {", "while (freed >= 0) {"),
      new PlantedBug(8, "queries never expire", "machine/Queries.java",
          "if (ticket.deadline - now <= 0) {", "if (ticket.deadline - now < Long.MIN_VALUE / 2) {"),
      new PlantedBug(8, "a charge is not paid back", "machine/Leases.java",
          "    total.refund(lease.bytes);\n",
          ""),
      new PlantedBug(8, "a charge is paid back twice", "machine/Queries.java",
          "    end(ticket, event);\n"
              + "    if (lease != null) {",
          "    end(ticket, event);\n"
              + "    refund(ticket, Math.min(ticket.charged, ticket.session.budget.used()));\n"
              + "    if (lease != null) {"),

      // 9. A fault of the cache is a miss: no exception and no hang.

      new PlantedBug(9, "nobody is told of a failed read", "machine/StoreReads.java",
          "    listener.loadFailed(row);\n",
          ""),
      new PlantedBug(9, "a store that waits for its last segment waits for ever", "machine/Emptying.java",
          "scope.recordBytes() > budget || !segments.canOpen()", "scope.recordBytes() > budget"),

      new PlantedBug(9, "a store that is off is still read", "machine/StoreTier.java",
          "return table.isCommitted(row) && trust.health() != StoreHealth.OFF;", "return table.isCommitted(row);"),

      // 10. A short or failed transfer never becomes a hit, and bytes are checksummed.

      new PlantedBug(10, "a failed read counts as read", "machine/StoreReads.java",
          "    if (status == StoreStatus.OK) {\n"
              + "      trust.readSucceeded();",
          "    if (status != StoreStatus.CLOSED) {\n"
              + "      trust.readSucceeded();"),
      new PlantedBug(10, "damaged bytes are served", "machine/StoreReads.java",
          "    if (status == StoreStatus.OK) {\n"
              + "      trust.readSucceeded();",
          "    if (status == StoreStatus.OK || status == StoreStatus.CORRUPT) {\n"
              + "      trust.readSucceeded();"),
      new PlantedBug(10, "a block that was read has no checksums", "machine/StoreReads.java",
          "      table.shardCrcs(row, store.header(memory.record(scope, read.memoryAt)).shardCrcs());\n",
          "      table.shardCrcs(row, new int[scope.layout().ranks()]);\n"),
      new PlantedBug(10, "an extent whose read failed is carried over", "machine/Emptying.java",
          "if (status == StoreStatus.OK && !carry.settled) {", "if (!carry.settled) {"),
      new PlantedBug(10, "a rank's checksum is kept as another's", "machine/Arrivals.java",
          "crcs[rank] = crc;", "crcs[crcs.length - 1 - rank] = crc;"),

      // 11. Saves and lookups never wait for SSD writes; demand is never dropped for optional work.

      new PlantedBug(11, "a block is not served while it is written", "machine/Queries.java",
          "this.resident = table::isResident;\n"
              + "    this.visible = row -> table.isResident(row) || store.isReadable(row);",
          "this.resident = row -> table.isResident(row)\n"
              + "        && table.extent(row) != io.orbitkv.core.lifecycle.ExtentState.WRITING;\n"
              + "    this.visible = row -> this.resident.test(row) || store.isReadable(row);"),
      new PlantedBug(11, "writes do not leave the device to reads", "machine/StoreWrites.java",
          "return reads.underWay() > 0 ? Math.min(maxWrites, MAX_WRITES_BESIDE_READS) : maxWrites;",
          "return maxWrites;"),

      // 12. Unknown layouts are refused.

      new PlantedBug(12, "another layout is let in under the same name", "machine/Blocks.java",
          "if (!scope.layout().equals(layout)) {", "if (scope.layout() == null) {"),

      // Callers are told what they ask for.

      new PlantedBug(9, "nobody is told of a block that leaves", "machine/Blocks.java",
          "      left(row);\n      directory.remove(row);", "      directory.remove(row);"),
      new PlantedBug(9, "nobody is told that the store is off", "machine/CacheCore.java",
          "lostStore ? Departures.NO_CURSOR : cursor", "cursor"),
      new PlantedBug(9, "nobody is told of a block that leaves memory while the store is off", "machine/CacheCore.java",
          "    if (tier.health() == StoreHealth.OFF) {\n      // What", "    if (tier.health() == null) {\n      // What"),

      // Counters are what callers were told.

      new PlantedBug(9, "a hit is counted in the wrong tier", "machine/Queries.java",
          "answered(ticket, inMemory, lease.blocks - inMemory);", "answered(ticket, lease.blocks, 0);"),
      new PlantedBug(9, "a block's tokens are counted as one", "machine/Queries.java",
          "ticket.session.spec.blockTokens(), ticket", "1, ticket"),
      new PlantedBug(9, "what a vanished rank was granted counts as restored", "machine/Leases.java",
          "if (event == RestoreState.Event.DRAIN) {", "if (event != null) {"));

  @TempDir
  Path scratch;

  @ParameterizedTest
  @FieldSource("BUGS")
  void simulator_findsThePlantedBug(PlantedBug bug) throws Exception {
    String found = bug.simulate(scratch);
    assertThat(found).as("what the simulator found").isNotEmpty();
    long seed = Long.parseLong(found.substring(0, found.indexOf(' ')));
    try (Simulation simulation = new Simulation(seed)) {
      assertThatCode(() -> simulation.run(SimulatorMain.EVENTS))
          .as("the core without the bug, with the same seed").doesNotThrowAnyException();
    }
  }

  @Test
  void everyInvariantHasABug() {
    assertThat(BUGS).extracting(PlantedBug::invariant)
        .containsAll(IntStream.rangeClosed(1, 12).boxed().toList());
  }
}
