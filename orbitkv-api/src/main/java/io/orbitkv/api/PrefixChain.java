package io.orbitkv.api;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.List;
import java.util.Objects;

/**
 * The hashes of a prompt's whole blocks, first block first. Each hash covers its block and every block before it, so
 * the hash of block {@code i} names the whole prefix up to and including it, and two prompts share exactly their equal
 * leading hashes.
 *
 * <p>Immutable, but for one {@link #over} memory that changes. A chain is computed once a request and then only read:
 * lookups touch O(log n) of its hashes. A {@link #first(int) shorter chain} shares the storage.
 */
public final class PrefixChain {

  /** The longest chain accepted, in blocks: 16 million tokens of 16-token blocks. */
  public static final int MAX_BLOCKS = 1 << 20;

  private static final byte[] TOKEN_DOMAIN = "orbitkv/token-chain/1".getBytes(StandardCharsets.UTF_8);
  private static final byte[] HASH_DOMAIN = "orbitkv/engine-hash/1".getBytes(StandardCharsets.UTF_8);

  /**
   * From 0 to the limit, big-endian as hashes leave a process, so that whole chains are copied and only the words that
   * are looked at are turned. Its position is never moved, so threads can share it.
   */
  private final ByteBuffer hashes;

  private final int blocks;

  private PrefixChain(ByteBuffer hashes) {
    int bytes = hashes.limit();
    if (bytes % Digest.BYTES != 0) {
      throw new RefusedException("hashes of a chain have " + bytes + " bytes, expected a multiple of " + Digest.BYTES);
    }
    this.hashes = hashes;
    this.blocks = bytes / Digest.BYTES;
    if (blocks > MAX_BLOCKS) {
      throw new RefusedException("chain has " + blocks + " blocks, expected at most " + MAX_BLOCKS);
    }
  }

  /**
   * Takes hashes that are already 256 bits of a collision-resistant chain.
   *
   * @param hashes one a block, first block first; copied
   * @return the chain
   */
  public static PrefixChain of(List<Digest> hashes) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.multiplyExact(hashes.size(), Digest.BYTES));
    for (Digest hash : hashes) {
      bytes.putLong(hash.w0()).putLong(hash.w1()).putLong(hash.w2()).putLong(hash.w3());
    }
    return new PrefixChain(bytes.flip());
  }

  /**
   * Takes an engine's native block hashes of any length. 32-byte hashes are taken as they are; others are framed with
   * their length and hashed, so that no two native hashes meet in one name.
   *
   * @param hashes one a block, first block first; copied
   * @return the chain
   * @throws RefusedException if a hash is empty
   */
  public static PrefixChain ofEngineHashes(List<byte[]> hashes) {
    MessageDigest sha = Digest.newSha256();
    return of(hashes.stream().map(hash -> {
      if (hash.length == 0) {
        throw new RefusedException("an engine's block hash is empty; expected at least one byte");
      }
      if (hash.length == Digest.BYTES) {
        return Digest.of(hash);
      }
      sha.update(HASH_DOMAIN);
      sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(hash.length).array());
      return Digest.of(sha.digest(hash));
    }).toList());
  }

  /**
   * Hashes token ids, for callers without an engine's hashes. Block {@code i} is the SHA-256 of a domain tag, the hash
   * of block {@code i - 1} (zero for the first) and its tokens as big-endian 32-bit integers. A tail of fewer than
   * {@code blockTokens} tokens is left out: only whole blocks are cached.
   *
   * @param tokens the prompt
   * @param blockTokens tokens a block, at least 1
   * @return the chain of the prompt's whole blocks
   */
  public static PrefixChain ofTokens(int[] tokens, int blockTokens) {
    if (blockTokens < 1) {
      throw new RefusedException("block has " + blockTokens + " tokens, expected at least 1");
    }
    MessageDigest sha = Digest.newSha256();
    ByteBuffer block = ByteBuffer.allocate(Integer.BYTES * blockTokens);
    int blocks = tokens.length / blockTokens;
    ByteBuffer hashes = ByteBuffer.allocate(Math.multiplyExact(blocks, Digest.BYTES));
    byte[] previous = new byte[Digest.BYTES];
    for (int i = 0; i < blocks; i++) {
      block.clear();
      block.asIntBuffer().put(tokens, i * blockTokens, blockTokens);
      sha.update(TOKEN_DOMAIN);
      sha.update(previous);
      previous = sha.digest(block.array());
      hashes.put(previous);
    }
    return new PrefixChain(hashes.flip());
  }

  /**
   * Reads hashes as {@link #write} wrote them, without an object a block.
   *
   * @param hashes 32 bytes a block, from its position to its limit; copied and read to the end
   * @return the chain
   * @throws RefusedException if the last hash is not whole
   */
  public static PrefixChain read(ByteBuffer hashes) {
    return new PrefixChain(ByteBuffer.allocate(hashes.remaining()).put(hashes).flip());
  }

  /**
   * Looks at hashes where they lie, as {@link #read} would copy them. The chain is good for as long as those bytes stay
   * as they are and no longer, so it is for whoever gives it to somebody that does not keep it.
   *
   * @param hashes 32 bytes a block, from its position to its limit; not moved
   * @return the chain
   * @throws RefusedException if the last hash is not whole
   */
  public static PrefixChain over(ByteBuffer hashes) {
    return new PrefixChain(hashes.slice());
  }

  /**
   * Writes the hashes, 32 bytes a block.
   *
   * @param target room for 32 bytes a block
   */
  public void write(ByteBuffer target) {
    target.put(hashes.duplicate());
  }

  /** Returns the number of blocks. */
  public int blocks() {
    return blocks;
  }

  /**
   * Returns one 64-bit word of a block's hash without making an object.
   *
   * @param block 0 to {@link #blocks()} - 1
   * @param word 0 to 3, as in {@link Digest}
   */
  public long word(int block, int word) {
    Objects.checkIndex(word, Digest.BYTES / Long.BYTES);
    return hashes.getLong(Objects.checkIndex(block, blocks) * Digest.BYTES + word * Long.BYTES);
  }

  /**
   * Returns the hash of a block.
   *
   * @param block 0 to {@link #blocks()} - 1
   */
  public Digest hash(int block) {
    return new Digest(word(block, 0), word(block, 1), word(block, 2), word(block, 3));
  }

  /**
   * Returns the chain of the first blocks.
   *
   * @param count 0 to {@link #blocks()}
   */
  public PrefixChain first(int count) {
    if (count < 0 || count > blocks) {
      throw new RefusedException("first " + count + " blocks of a chain of " + blocks);
    }
    return count == blocks ? this : new PrefixChain(hashes.slice(0, count * Digest.BYTES));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PrefixChain that && hashes.equals(that.hashes);
  }

  @Override
  public int hashCode() {
    // The last hash covers all before it.
    return blocks == 0 ? 0 : Long.hashCode(word(blocks - 1, 0));
  }

  @Override
  public String toString() {
    return blocks == 0 ? "chain of 0 blocks" : "chain of " + blocks + " blocks to " + hash(blocks - 1);
  }
}
