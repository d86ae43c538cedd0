package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An adapter touches the API, and of the core only what is meant for it: the agent it stands beside, the client,
 * messages and lifecycles. It opens no cache, serves no Manager, and touches no provider interface: storage, memory and
 * devices are not its own.
 */
class AdapterScopeTest {

  private static final String CORE = "io.orbitkv.core";
  private static final String SPI = "io.orbitkv.api.spi";

  @TempDir
  Path temp;

  @Test
  void adaptersKeepToWhatIsMeantForThem() {
    assertThat(outOfScope(Build.here())).isEmpty();
  }

  @Test
  void cacheOpenedByAnAdapter_isFound() {
    Build build = new Plant(temp)
        .module(CORE, "exports io.orbitkv.core", "exports io.orbitkv.core.agent")
        .source(CORE, "package io.orbitkv.core; public class OwnCache {}")
        .source(CORE, "package io.orbitkv.core.agent; public class Socket {}")
        .module("io.orbitkv.adapter.first", "requires io.orbitkv.core")
        .source("io.orbitkv.adapter.first", """
            package io.orbitkv.adapter.first;
            class Endpoint { io.orbitkv.core.OwnCache cache; io.orbitkv.core.agent.Socket socket; }
            """)
        .compile();
    assertThat(outOfScope(build)).singleElement().asString()
        .contains("io.orbitkv.adapter.first.Endpoint.cache", "io.orbitkv.core.OwnCache");
  }

  @Test
  void providerInterfaceInAnAdapter_isFound() {
    Build build = new Plant(temp)
        .module("io.orbitkv.adapter.first", "requires io.orbitkv.api")
        .source("io.orbitkv.adapter.first",
            "package io.orbitkv.adapter.first; class Copies { io.orbitkv.api.spi.Device device; }")
        .compile();
    assertThat(outOfScope(build)).singleElement().asString()
        .contains("io.orbitkv.adapter.first.Copies.device", "io.orbitkv.api.spi.Device");
  }

  private static List<String> outOfScope(Build build) {
    List<String> wrong = new ArrayList<>();
    for (BuiltModule module : build.modules()) {
      if (OwnershipTable.kindOf(module.name()) == OwnershipTable.Kind.ADAPTER) {
        for (String packageName : module.packages()) {
          for (JavaClass type : build.classes().getPackage(packageName).getClasses()) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
              if (!mayTouch(build, dependency.getTargetClass().getBaseComponentType())) {
                wrong.add(dependency.getDescription());
              }
            }
          }
        }
      }
    }
    return wrong;
  }

  private static boolean mayTouch(Build build, JavaClass target) {
    String packageName = target.getPackageName();
    boolean ofCore = !target.isPrimitive() && build.moduleOf(packageName).filter(CORE::equals).isPresent();
    return ofCore ? OwnershipTable.CORE_FOR_ADAPTERS.contains(packageName) : !packageName.equals(SPI);
  }
}
