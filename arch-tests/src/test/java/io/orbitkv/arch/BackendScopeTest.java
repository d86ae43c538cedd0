package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import java.lang.module.ModuleDescriptor.Provides;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A backend touches the provider interfaces that it implements and what they are made of, no others: a store does not
 * know about eviction, memory does not know about stores. And it opens no sockets.
 */
class BackendScopeTest {

  private static final String SPI = "io.orbitkv.api.spi";

  @TempDir
  Path temp;

  @Test
  void backendsKeepToWhatTheyProvide() {
    assertThat(outOfScope(Build.here())).isEmpty();
  }

  @Test
  void foreignProviderInterface_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.backend.next", "requires io.orbitkv.api",
            "provides io.orbitkv.api.spi.ResidencyPolicy with io.orbitkv.backend.next.Fifo")
        .source("io.orbitkv.backend.next", """
            package io.orbitkv.backend.next;
            public class Fifo implements io.orbitkv.api.spi.ResidencyPolicy {
              io.orbitkv.api.spi.BlockStore peeked;
              public String name() { return "fifo"; }
              public io.orbitkv.api.spi.EvictionOrder open(io.orbitkv.api.spi.PolicyOptions options) { return null; }
            }
            """)
        .compile();
    assertThat(outOfScope(build)).singleElement().asString()
        .contains("io.orbitkv.backend.next.Fifo.peeked", "io.orbitkv.api.spi.BlockStore");
  }

  @Test
  void socketInABackend_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.backend.next")
        .source("io.orbitkv.backend.next",
            "package io.orbitkv.backend.next; class Peer { java.nio.channels.SocketChannel channel; }")
        .compile();
    assertThat(outOfScope(build)).singleElement().asString()
        .contains("io.orbitkv.backend.next.Peer.channel", "java.nio.channels.SocketChannel");
  }

  private static List<String> outOfScope(Build build) {
    List<String> wrong = new ArrayList<>();
    for (BuiltModule module : build.modules()) {
      if (OwnershipTable.kindOf(module.name()) == OwnershipTable.Kind.BACKEND) {
        Set<String> family = new TreeSet<>();
        for (Provides provides : module.descriptor().provides()) {
          collectFamily(build.classes().get(provides.service()), family);
        }
        for (String packageName : module.packages()) {
          for (JavaClass type : build.classes().getPackage(packageName).getClasses()) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
              JavaClass target = dependency.getTargetClass();
              boolean foreign = target.getPackageName().equals(SPI) && !family.contains(target.getName());
              if (foreign || isSocket(target)) {
                wrong.add(dependency.getDescription());
              }
            }
          }
        }
      }
    }
    return wrong;
  }

  /** Collects a provider interface and all provider types that its signatures lead to. */
  private static void collectFamily(JavaClass type, Set<String> family) {
    if (type.getPackageName().equals(SPI) && family.add(type.getName())) {
      type.getDirectDependenciesFromSelf()
          .forEach(dependency -> collectFamily(dependency.getTargetClass().getBaseComponentType(), family));
    }
  }

  private static boolean isSocket(JavaClass type) {
    return type.getPackageName().startsWith("java.net") && !type.getSimpleName().startsWith("UR")
        || type.getPackageName().equals("java.nio.channels") && type.getSimpleName().contains("Socket");
  }
}
