package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HexFormat;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said of a message that is none: the field, what was expected and what was found. */
class MalformedMessageTest {

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      c0 | message.frame: expected an array, found nil
      90 | message.tag: expected an int, found nothing
      91a0 | message.tag: expected an int, found str
      9112 | request: expected a tag of 1 to 17, found 18
      91 | message.tag: expected 1 bytes, found 0 up to the frame's end
      9108 | Enqueued: expected 1 fields, found 0
      93080505 | Enqueued: expected 1 fields, found 2
      92080505 | Enqueued: 1 bytes behind its last field
      9208a135 | Enqueued.grant: expected an int, found str
      9208c3 | Enqueued.grant: expected an int, found bool
      9208cb0000000000000000 | Enqueued.grant: expected an int, found float
      9208cfffffffffffffffff | Enqueued.grant: expected an int of 64 bits with a sign, found 18446744073709551615
      9208cf0000 | Enqueued.grant: expected 8 bytes, found 2 up to the frame's end
      920fce80000000 | Flush.millis: expected an int of 32 bits, found 2147483648
      960101c0 | Hello.software: expected a str, found nil
      960101a2c328 | Hello.software: expected UTF-8, found other bytes
      960101a561 | Hello.software: expected 5 bytes, found 1 up to the frame's end
      960101da0401 | Hello.software: expected at most 1024 bytes of text, found 1025
      960101dbffffffff | Hello.software: expected at most 1024 bytes of text, found 4294967295
      960101a00101c41f | Hello.probe: expected 31 bytes, found 0 up to the frame's end
      960101a00101c4022020 | Hello.probe: expected 32 bytes, found 2
      9503010203c4022020 | Query.chain: expected a multiple of 32 bytes, found 2
      9503010203c67fffffff | Query.chain: expected 2147483647 bytes, found 0 up to the frame's end
      9503010203c6ffffffff | Query.chain: expected 4294967295 bytes, found 0 up to the frame's end
      9503010203a0 | Query.chain: expected a bin, found str
      940b09c40102c400 | Commit.copied: expected bytes 0 and 1, found 2
      940b09c400c4022020 | Commit.crcs: expected a multiple of 4 bytes, found 2
      """)
  void requestIsMalformed(String hex, String message) {
    assertThatThrownBy(() -> MessageBytes.request(HexFormat.of().parseHex(hex)))
        .isInstanceOf(MalformedException.class)
        .hasMessage(message);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      910b | reply: expected a tag of 1 to 10, found 11
      9302a24e4fa0 | Refused.refusal: expected one of [REFUSED, UNAVAILABLE, CLOSED, SUPERSEDED], found 'NO'
      930501c4022020 | Granted.shardsAt: expected a multiple of 8 bytes, found 2
      92070a | Flushed.all: expected a bool, found int
      9208dc0001 | Statistics.stats: expected 22 values, found 1
      9208ddffffffff | Statistics.stats: expected an array, found 4294967295 values
      9208dc0016000000000090 | Statistics.missed: expected a map, found array
      9208dc00160000000000de0101 | Statistics.missed: expected at most 256 keys, found 257
      9208dc0016000000000082a44e4f4e4501a44e4f4e4501 | Statistics.stats: expected each key once, found one twice
      """)
  void replyIsMalformed(String hex, String message) {
    assertThatThrownBy(() -> MessageBytes.reply(HexFormat.of().parseHex(hex)))
        .isInstanceOf(MalformedException.class)
        .hasMessage(message);
  }
}
