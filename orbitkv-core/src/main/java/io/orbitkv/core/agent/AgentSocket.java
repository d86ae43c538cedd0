package io.orbitkv.core.agent;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;

/**
 * The socket that an agent or an adapter listens on: of this user alone, in a folder of this user alone. A lock beside
 * it is held until {@link #close()}, for an agent when every copy is drained, or by the kernel until the process and
 * its mappings have ended. So whoever listens on a path is proof that no earlier agent of that path copies any more.
 */
public final class AgentSocket implements AutoCloseable {

  private static final Logger LOG = System.getLogger(AgentSocket.class.getName());

  /** Room for a path in a socket's address, its end included. */
  private static final int MAX_SOCKET_PATH = 108;

  private static final Set<PosixFilePermission> PRIVATE = Set.of(
      PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE, PosixFilePermission.OWNER_EXECUTE);

  private final Path path;
  private final String user;
  private final ServerSocketChannel channel;
  private final FileChannel lock;

  private AgentSocket(Path path, String user, ServerSocketChannel channel, FileChannel lock) {
    this.path = path;
    this.user = user;
    this.channel = channel;
    this.lock = lock;
  }

  /**
   * Listens.
   *
   * @param path where; its folder is made if it is missing
   * @param backlog how many connections may wait to be accepted
   * @return the socket
   * @throws RefusedException if the path is too long, or its folder open to others
   * @throws UnavailableException if another agent listens there, or the socket cannot be made
   */
  public static AgentSocket listen(Path path, int backlog) {
    if (path.toString().getBytes().length >= MAX_SOCKET_PATH) {
      throw new RefusedException("socket path " + path + " has " + path.toString().getBytes().length
          + " bytes, expected fewer than " + MAX_SOCKET_PATH + "; choose a folder with a shorter path");
    }
    try {
      String user = Files.getOwner(Path.of("/proc/self")).getName();
      requirePrivate(path.toAbsolutePath().getParent(), user);
      FileChannel lock = lock(path);
      try {
        return new AgentSocket(path, user, bind(path, backlog), lock);
      } catch (IOException | RuntimeException e) {
        lock.close();
        throw e;
      }
    } catch (IOException e) {
      throw new UnavailableException("socket " + path + " cannot be made: " + e, e);
    }
  }

  private static FileChannel lock(Path path) throws IOException {
    FileChannel file = FileChannel.open(path.resolveSibling(path.getFileName() + ".lock"),
        Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS),
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    try {
      if (file.tryLock() != null) {
        return file;
      }
    } catch (OverlappingFileLockException ofThisProcess) {
      // Said below, as for one of another process.
    } catch (IOException e) {
      file.close();
      throw e;
    }
    file.close();
    throw new UnavailableException("another agent has the socket " + path + ", or is still draining copies of its "
        + "engine; stop it, or choose another socket");
  }

  private static ServerSocketChannel bind(Path path, int backlog) throws IOException {
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      if (!Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS).isOther()) {
        throw new RefusedException(path + " is no socket; choose another path for the agent's socket");
      }
      // Of an agent that was killed: the lock is ours.
      Files.delete(path);
    }
    ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.bind(UnixDomainSocketAddress.of(path), backlog);
      // Nobody else can reach it before, since the folder is private.
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
      return channel;
    } catch (IOException e) {
      channel.close();
      throw e;
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

  /**
   * Waits for a connection of this user; one of another user is closed at once.
   *
   * @return the connection, owned by the caller
   * @throws IOException if the socket was stopped
   */
  public SocketChannel accept() throws IOException {
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

  /** Returns where it listens. */
  public Path path() {
    return path;
  }

  /** Ends an accept under way, and removes the socket. */
  public void stop() {
    try {
      if (channel.isOpen()) {
        channel.close();
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      LOG.log(Level.WARNING, "socket " + path + " was not removed: " + e);
    }
  }

  /** Lets another process have the path. When every copy is drained. The lock's file stays: two could lock two. */
  @Override
  public void close() {
    stop();
    try {
      lock.close();
    } catch (IOException e) {
      LOG.log(Level.WARNING, "the lock of socket " + path + " was not given up: " + e);
    }
  }
}
