package io.orbitkv.core.wire;

import java.nio.ByteBuffer;
import java.util.function.Consumer;

/** Messages without a socket. */
final class MessageBytes {

  private MessageBytes() {}

  static byte[] of(Request request) {
    return written(out -> RequestCodec.write(request, out));
  }

  static byte[] of(Reply reply) {
    return written(out -> ReplyCodec.write(reply, out));
  }

  static byte[] written(Consumer<PackWriter> message) {
    GrowingBuffer buffer = new GrowingBuffer(Protocol.MAX_FRAME_BYTES);
    message.accept(new PackWriter(buffer));
    ByteBuffer bytes = buffer.bytes().flip();
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return copy;
  }

  static Request request(byte[] message) throws MalformedException {
    return RequestCodec.read(new PackReader(ByteBuffer.wrap(message)));
  }

  static Reply reply(byte[] message) throws MalformedException {
    return ReplyCodec.read(new PackReader(ByteBuffer.wrap(message)));
  }
}
