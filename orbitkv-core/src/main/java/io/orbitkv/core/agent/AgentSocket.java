package io.orbitkv.core.agent;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;

/** The socket that an agent listens on: of this user alone, in a folder of this user alone. */
final class AgentSocket implements AutoCloseable {

  /** Room for a path in a socket's address, its end included. */
  private static final int MAX_SOCKET_PATH = 108;

  /** An agent serves one engine; one more may wait while copies for the one before drain. */
  private static final int BACKLOG = 4;

  private static final Set<PosixFilePermission> PRIVATE = PosixFilePermissions.fromString("rwx------");

  private final Path path;
  private final String user;
  private final ServerSocketChannel channel;

  private AgentSocket(Path path, String user, ServerSocketChannel channel) {
    this.path = path;
    this.user = user;
    this.channel = channel;
  }

  /**
   * Listens.
   *
   * @throws RefusedException if the path is too long, or its folder open to others
   * @throws UnavailableException if another agent listens there, or the socket cannot be made
   */
  static AgentSocket listen(Path path) {
    if (path.toString().getBytes().length >= MAX_SOCKET_PATH) {
      throw new RefusedException("socket path " + path + " has " + path.toString().getBytes().length
          + " bytes, expected fewer than " + MAX_SOCKET_PATH + "; choose a folder with a shorter path");
    }
    try {
      String user = Files.getOwner(Path.of("/proc/self")).getName();
      requirePrivate(path.toAbsolutePath().getParent(), user);
      removeStale(path);
      ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
      try {
        channel.bind(UnixDomainSocketAddress.of(path), BACKLOG);
        // Nobody else can reach it before, since the folder is private.
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
        return new AgentSocket(path, user, channel);
      } catch (IOException e) {
        channel.close();
        throw e;
      }
    } catch (IOException e) {
      throw new UnavailableException("socket " + path + " cannot be made: " + e, e);
    }
  }

  private static void requirePrivate(Path folder, String user) throws IOException {
    try {
      Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PRIVATE));
    } catch (FileAlreadyExistsException e) {
      // Looked at below.
    }
    PosixFileAttributes found = Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    if (!found.isDirectory() || !found.owner().getName().equals(user) || !PRIVATE.containsAll(found.permissions())) {
      throw new RefusedException("folder " + folder + " of the agent's socket is "
          + PosixFilePermissions.toString(found.permissions()) + " of " + found.owner().getName()
          + ", expected a folder rwx------ of " + user + "; chmod 700 it or choose another");
    }
  }

  private static void removeStale(Path path) throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS).isOther()) {
      try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
        probe.connect(UnixDomainSocketAddress.of(path));
      } catch (IOException nobodyListens) {
        Files.delete(path);
        return;
      }
      throw new UnavailableException("another agent listens on " + path + "; stop it, or choose another socket");
    }
    throw new RefusedException(path + " is no socket; choose another path for the agent's socket");
  }

  /** Waits for a connection of this user; one of another user is closed at once. */
  SocketChannel accept() throws IOException {
    while (true) {
      SocketChannel accepted = channel.accept();
      try {
        if (accepted.getOption(ExtendedSocketOptions.SO_PEERCRED).user().getName().equals(user)) {
          return accepted;
        }
      } catch (IOException e) {
        // It has gone already.
      }
      accepted.close();
    }
  }

  Path path() {
    return path;
  }

  /** Ends an accept under way, and removes the socket. */
  @Override
  public void close() {
    try {
      channel.close();
      Files.deleteIfExists(path);
    } catch (IOException e) {
      System.getLogger(AgentSocket.class.getName())
          .log(System.Logger.Level.WARNING, "socket " + path + " was not removed: " + e);
    }
  }
}
