package io.orbitkv.core.wire;

/** The fields of each {@link Request} on the wire, in order. A tag is its record's place in the interface, from 1. */
final class RequestCodec {

  private RequestCodec() {}

  static void write(Request request, PackWriter out) {
    switch (request) {
      case Request.Hello hello -> {
        out.message(1, 5);
        out.int64(hello.protocol());
        out.text(hello.software());
        out.int64(hello.pid());
        out.int64(hello.pidNamespace());
        out.digest(hello.probe());
      }
      case Request.Register register -> {
        out.message(2, 7);
        out.text(register.instance());
        out.int64(register.incarnation());
        out.digest(register.namespace());
        out.int64(register.ranks());
        out.int64(register.shardBytes());
        out.int64(register.blockTokens());
        out.int64(register.member());
      }
      case Request.Query query -> {
        out.message(3, 4);
        out.int64(query.generation());
        out.int64(query.operation());
        out.int64(query.revision());
        out.chain(query.chain());
      }
      case Request.Poll poll -> {
        out.message(4, 3);
        out.int64(poll.generation());
        out.int64(poll.operation());
        out.int64(poll.revision());
      }
      case Request.Cancel cancel -> {
        out.message(5, 3);
        out.int64(cancel.generation());
        out.int64(cancel.operation());
        out.int64(cancel.revision());
      }
      case Request.Release release -> {
        out.message(6, 2);
        out.int64(release.generation());
        out.int64(release.lease());
      }
      case Request.Restore restore -> {
        out.message(7, 3);
        out.int64(restore.generation());
        out.int64(restore.lease());
        out.int64(restore.rank());
      }
      case Request.Enqueued enqueued -> {
        out.message(8, 1);
        out.int64(enqueued.grant());
      }
      case Request.Drained drained -> {
        out.message(9, 1);
        out.int64(drained.grant());
      }
      case Request.Reserve reserve -> {
        out.message(10, 5);
        out.int64(reserve.generation());
        out.int64(reserve.rank());
        out.chain(reserve.chain());
        out.int64(reserve.from());
        out.int64(reserve.to());
      }
      case Request.Commit commit -> {
        out.message(11, 3);
        out.int64(commit.grant());
        out.flags(commit.copied());
        out.ints(commit.crcs());
      }
      case Request.Abort abort -> {
        out.message(12, 1);
        out.int64(abort.grant());
      }
      case Request.Settle settle -> {
        out.message(13, 1);
        out.int64(settle.member());
      }
      case Request.Stats _ -> out.message(14, 0);
      case Request.Flush flush -> {
        out.message(15, 1);
        out.int64(flush.millis());
      }
      case Request.Leave leave -> {
        out.message(16, 1);
        out.int64(leave.generation());
      }
      case Request.Follow follow -> {
        out.message(17, 2);
        out.int64(follow.generation());
        out.int64(follow.cursor());
      }
    }
  }

  static Request read(PackReader in) throws MalformedException {
    int tag = in.tag();
    Request request = switch (tag) {
      case 1 -> {
        in.message("Hello", 5);
        yield new Request.Hello(
            in.int32("protocol"), in.text("software"), in.int64("pid"), in.int64("pidNamespace"), in.digest("probe"));
      }
      case 2 -> {
        in.message("Register", 7);
        yield new Request.Register(
            in.text("instance"), in.int64("incarnation"), in.digest("namespace"), in.int32("ranks"),
            in.int32("shardBytes"), in.int32("blockTokens"), in.int32("member"));
      }
      case 3 -> {
        in.message("Query", 4);
        yield new Request.Query(
            in.int64("generation"), in.int64("operation"), in.int32("revision"), in.chainInPlace("chain"));
      }
      case 4 -> {
        in.message("Poll", 3);
        yield new Request.Poll(in.int64("generation"), in.int64("operation"), in.int32("revision"));
      }
      case 5 -> {
        in.message("Cancel", 3);
        yield new Request.Cancel(in.int64("generation"), in.int64("operation"), in.int32("revision"));
      }
      case 6 -> {
        in.message("Release", 2);
        yield new Request.Release(in.int64("generation"), in.int64("lease"));
      }
      case 7 -> {
        in.message("Restore", 3);
        yield new Request.Restore(in.int64("generation"), in.int64("lease"), in.int32("rank"));
      }
      case 8 -> {
        in.message("Enqueued", 1);
        yield new Request.Enqueued(in.int64("grant"));
      }
      case 9 -> {
        in.message("Drained", 1);
        yield new Request.Drained(in.int64("grant"));
      }
      case 10 -> {
        in.message("Reserve", 5);
        yield new Request.Reserve(
            in.int64("generation"), in.int32("rank"), in.chain("chain"), in.int32("from"), in.int32("to"));
      }
      case 11 -> {
        in.message("Commit", 3);
        yield new Request.Commit(in.int64("grant"), in.flags("copied"), in.ints("crcs"));
      }
      case 12 -> {
        in.message("Abort", 1);
        yield new Request.Abort(in.int64("grant"));
      }
      case 13 -> {
        in.message("Settle", 1);
        yield new Request.Settle(in.int64("member"));
      }
      case 14 -> {
        in.message("Stats", 0);
        yield new Request.Stats();
      }
      case 15 -> {
        in.message("Flush", 1);
        yield new Request.Flush(in.int32("millis"));
      }
      case 16 -> {
        in.message("Leave", 1);
        yield new Request.Leave(in.int64("generation"));
      }
      case 17 -> {
        in.message("Follow", 2);
        yield new Request.Follow(in.int64("generation"), in.int64("cursor"));
      }
      default -> throw new MalformedException("request: expected a tag of 1 to 17, found " + tag);
    };
    in.end();
    return request;
  }
}
