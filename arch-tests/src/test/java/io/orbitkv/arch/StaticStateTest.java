package io.orbitkv.arch;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaParameterizedType;
import com.tngtech.archunit.core.domain.JavaType;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeModel;
import java.lang.classfile.Instruction;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.ArrayStoreInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * No static holds state. A static field is final, and it is one of these:
 *
 * <ul>
 *   <li>a value: a primitive, an enum, a string, a record or a final class of final values, or one of the JDK's
 *       immutable types that are listed here;
 *   <li>a list, set or map of values that comes straight from a factory of unmodifiable ones;
 *   <li>a private array of primitives that no method of its class sorts, fills, stores into or returns.
 * </ul>
 */
class StaticStateTest {

  /** Immutable types of the JDK that are no records, enums or transparent classes. */
  private static final Set<String> VALUES = Set.of(
      "java.lang.Boolean", "java.lang.Byte", "java.lang.Character", "java.lang.Short", "java.lang.Integer",
      "java.lang.Long", "java.lang.Float", "java.lang.Double", "java.lang.String", "java.lang.Class",
      "java.lang.System$Logger", "java.lang.invoke.MethodHandle", "java.lang.invoke.VarHandle",
      "java.math.BigInteger", "java.nio.charset.Charset", "java.time.Duration", "java.util.HexFormat",
      "java.util.regex.Pattern");

  private static final String LAYOUT = "java.lang.foreign.MemoryLayout";

  private static final Set<String> COLLECTIONS = Set.of("java.util.List", "java.util.Map", "java.util.Set");
  private static final Set<String> FACTORIES = Set.of("of", "ofEntries", "copyOf");

  @TempDir
  Path temp;

  @Test
  void noStaticHoldsState() {
    assertThat(stateful(Build.here())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "static int count;",
    "static final java.util.concurrent.atomic.AtomicLong COUNT = new java.util.concurrent.atomic.AtomicLong();",
    "static final java.util.List<String> SEEN = new java.util.ArrayList<>();",
    "static final java.util.List<java.util.BitSet> SEEN = java.util.List.of(new java.util.BitSet());",
    "static final java.util.Map<String, String> SEEN = java.util.Collections.synchronizedMap(new java.util.HashMap<>());",
    "static final ThreadLocal<String> CURRENT = new ThreadLocal<>();",
    "static final Object LOCK = new Object();",
    "static final java.lang.foreign.Arena ARENA = java.lang.foreign.Arena.ofAuto();",
    "static final int[] SHOWN = {1, 2};",
    "private static final String[] NAMES = {\"a\"};",
    "private static final int[] STORED = {1, 2}; void set() { STORED[0]++; }",
    "private static final int[] RETURNED = {1, 2}; int[] all() { return RETURNED; }",
    "private static final int[] FILLED = {1, 2}; void fill() { java.util.Arrays.fill(FILLED, 3); }",
    "record Box(java.util.ArrayList<String> content) {} static final Box BOX = new Box(new java.util.ArrayList<>());",
    "static final class Slot { int value; } static final Slot SLOT = new Slot();",
    "interface Shape {} static final Shape SHAPE = new Shape() { int sides; };"
  })
  void state_isFound(String member) {
    assertThat(stateful(planted(member))).singleElement().asString().startsWith("io.orbitkv.core.Planted.");
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "static final int LIMIT = 3; static final Integer BOXED = Integer.valueOf(3); static final String NAME = \"name\";",
    "static final java.util.List<String> NAMES = java.util.List.of(\"a\", \"b\");",
    "static final java.util.Map<String, Integer> NAMES = java.util.Map.ofEntries(java.util.Map.entry(\"a\", 1));",
    "static final java.util.Set<Thread.State> LIVE = java.util.Set.of(Thread.State.RUNNABLE);",
    "private static final byte[] DOMAIN = {1, 2}; int first() { return DOMAIN[0]; }",
    "record Link(Link next) {} static final Link LAST = new Link(null);",
    "record Size(long bytes) {} static final Size ZERO = new Size(0);",
    "static final class Size { private final long bytes = 1; } static final Size ONE = new Size();",
    "enum Step { FIRST, LAST } static final Step START = Step.FIRST; int at(Step s) { switch (s) { default: return 1; } }",
    "static final java.lang.foreign.ValueLayout.OfLong WORD = java.lang.foreign.ValueLayout.JAVA_LONG;",
    "static final System.Logger LOG = System.getLogger(\"planted\");"
  })
  void constant_isLeftAlone(String member) {
    assertThat(stateful(planted(member))).isEmpty();
  }

  private Build planted(String member) {
    return new Plant(temp)
        .module("io.orbitkv.core")
        .source("io.orbitkv.core", "package io.orbitkv.core; class Planted { " + member + " }")
        .compile();
  }

  private static List<String> stateful(Build build) {
    List<String> wrong = new ArrayList<>();
    for (JavaClass type : build.classes()) {
      for (JavaField field : type.getFields()) {
        boolean written = !field.getModifiers().contains(JavaModifier.SYNTHETIC);
        if (written && field.getModifiers().contains(JavaModifier.STATIC)) {
          whyStateful(field).ifPresent(reason -> wrong.add(field.getFullName() + " " + reason));
        }
      }
    }
    return wrong;
  }

  private static Optional<String> whyStateful(JavaField field) {
    JavaClass type = field.getRawType();
    if (!field.getModifiers().contains(JavaModifier.FINAL)) {
      return Optional.of("is not final");
    }
    if (type.isArray()) {
      return whyStatefulArray(field);
    }
    if (COLLECTIONS.contains(type.getName())) {
      return whyStatefulCollection(field);
    }
    return isValue(type, Set.of()) ? Optional.empty() : Optional.of("is of type " + type.getName() + ", which can hold state");
  }

  /** The types within which this one was met are values if the rest of them is: a record may hold its like. */
  private static boolean isValue(JavaClass type, Set<JavaClass> within) {
    if (within.contains(type)) {
      return true;
    }
    if (type.isPrimitive() || type.isEnum() || VALUES.contains(type.getName()) || type.isAssignableTo(LAYOUT)) {
      return true;
    }
    boolean transparent = OwnershipTable.isOurs(type.getName())
        && type.getModifiers().contains(JavaModifier.FINAL)
        && type.getRawSuperclass().map(JavaClass::getName).filter(
            name -> name.equals("java.lang.Object") || name.equals("java.lang.Record")).isPresent();
    Set<JavaClass> here = new HashSet<>(within);
    here.add(type);
    return transparent && type.getFields().stream()
        .filter(field -> !field.getModifiers().contains(JavaModifier.STATIC))
        .allMatch(field -> field.getModifiers().contains(JavaModifier.FINAL) && isValue(field.getRawType(), here));
  }

  private static Optional<String> whyStatefulCollection(JavaField field) {
    if (!(field.getType() instanceof JavaParameterizedType generic)) {
      return Optional.of("does not say what it holds");
    }
    for (JavaType argument : generic.getActualTypeArguments()) {
      if (!isValue(argument.toErasure(), Set.of())) {
        return Optional.of("holds " + argument.getName() + ", which can hold state");
      }
    }
    Instruction before = null;
    for (Instruction instruction : instructions(initializer(field))) {
      if (accesses(instruction, Opcode.PUTSTATIC, field) && !isFactory(before)) {
        return Optional.of("does not come straight from " + FACTORIES + " of an unmodifiable collection");
      }
      before = instruction;
    }
    return Optional.empty();
  }

  private static boolean isFactory(Instruction instruction) {
    return instruction instanceof InvokeInstruction call
        && call.opcode() == Opcode.INVOKESTATIC
        && COLLECTIONS.contains(call.owner().asInternalName().replace('/', '.'))
        && FACTORIES.contains(call.name().stringValue());
  }

  private static Optional<String> whyStatefulArray(JavaField field) {
    if (!field.getModifiers().contains(JavaModifier.PRIVATE)) {
      return Optional.of("is an array that others can store into");
    }
    if (!field.getRawType().getComponentType().isPrimitive()) {
      return Optional.of("is an array of objects; use an unmodifiable list");
    }
    ClassDesc array = ClassDesc.ofDescriptor(field.getRawType().getName().replace('.', '/'));
    for (MethodModel method : model(field.getOwner()).methods()) {
      boolean initializes = method.methodName().equalsString(ConstantDescs.CLASS_INIT_NAME);
      List<Instruction> body = instructions(Optional.of(method));
      if (!initializes && body.stream().anyMatch(i -> accesses(i, Opcode.GETSTATIC, field))
          && body.stream().anyMatch(i -> givesAway(i, method, array))) {
        return Optional.of("is read by " + method.methodName() + ", which stores into an array or gives it away");
      }
    }
    return Optional.empty();
  }

  private static boolean givesAway(Instruction instruction, MethodModel method, ClassDesc array) {
    return switch (instruction) {
      case ArrayStoreInstruction _ -> true;
      case ReturnInstruction _ -> method.methodTypeSymbol().returnType().equals(array);
      case InvokeInstruction call -> call.owner().asInternalName().equals("java/util/Arrays")
          && (call.name().equalsString("fill") || call.name().equalsString("sort") || call.name().equalsString("setAll"));
      default -> false;
    };
  }

  private static boolean accesses(Instruction instruction, Opcode opcode, JavaField field) {
    return instruction instanceof FieldInstruction access
        && access.opcode() == opcode
        && access.name().equalsString(field.getName())
        && access.owner().asInternalName().equals(field.getOwner().getName().replace('.', '/'));
  }

  private static Optional<MethodModel> initializer(JavaField field) {
    return model(field.getOwner()).methods().stream()
        .filter(method -> method.methodName().equalsString(ConstantDescs.CLASS_INIT_NAME))
        .findFirst();
  }

  private static List<Instruction> instructions(Optional<MethodModel> method) {
    return method.flatMap(MethodModel::code).stream()
        .flatMap(CodeModel::elementStream)
        .filter(Instruction.class::isInstance)
        .map(Instruction.class::cast)
        .toList();
  }

  private static ClassModel model(JavaClass type) {
    try (InputStream in = type.getSource().orElseThrow().getUri().toURL().openStream()) {
      return ClassFile.of().parse(in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
