package io.orbitkv.core.manager;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.MemoryPool;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The Manager's files beside the arena: its socket and the witnesses of its members. The folder is private to one user,
 * and whoever has the arena's lock owns what is in it.
 */
final class RuntimeFolder {

  /** Name of the socket in the folder. */
  static final String SOCKET = "manager.sock";

  private static final String WITNESS = "witness-";

  /** What a Manager that was killed leaves: its socket, the address of its HTTP, and its members' witnesses. */
  private static final String LEFT = "{manager.,witness-}*";

  /** Room for a path in a socket's address, its end included. */
  private static final int MAX_SOCKET_PATH = 108;

  private final Path arena;
  private final Path socket;

  /**
   * Takes over the folder of an arena and removes what a dead Manager left.
   *
   * @throws RefusedException if no other process can map the memory
   */
  RuntimeFolder(MemoryPool memory) {
    this.arena = memory.file().orElseThrow(() -> new RefusedException("memory '" + memory.describe()
        + "' cannot be mapped by other processes; a Manager needs memory with a file, as 'shared'"));
    this.socket = arena.resolveSibling(SOCKET);
    if (socket.toString().getBytes().length >= MAX_SOCKET_PATH) {
      throw new RefusedException("socket path " + socket + " has " + socket.toString().length()
          + " characters, expected fewer than " + MAX_SOCKET_PATH + "; choose a runtime folder with a shorter path");
    }
    clear();
  }

  /** Returns the file with the blocks. */
  Path arena() {
    return arena;
  }

  /** Returns the path of the socket. */
  Path socket() {
    return socket;
  }

  /** Returns the user that the folder belongs to. */
  String owner() throws IOException {
    return Files.getOwner(arena.getParent()).getName();
  }

  /** Returns a channel that listens on the socket, which only this user can connect to. */
  ServerSocketChannel listen(int backlog) {
    try {
      ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      try {
        channel.bind(UnixDomainSocketAddress.of(socket), backlog);
        // Nobody else can reach it before, since the folder is private.
        Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-------"));
        return channel;
      } catch (IOException e) {
        channel.close();
        throw e;
      }
    } catch (IOException e) {
      throw new UnavailableException("socket " + socket + " cannot be made: " + e.getMessage(), e);
    }
  }

  /** Makes the witness of a member. */
  Path createWitness(long member) throws IOException {
    Path witness = arena.resolveSibling(WITNESS + member);
    return Files.createFile(
        witness, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  /** Removes the socket, every witness, and whatever else a Manager has left under its own name. */
  void clear() {
    try (DirectoryStream<Path> left = Files.newDirectoryStream(arena.getParent(), LEFT)) {
      for (Path file : left) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new UnavailableException("runtime folder " + arena.getParent() + " cannot be cleared: " + e.getMessage(), e);
    }
  }
}
