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
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.ArrayStoreInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
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
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * No static holds state. A static field is final, and it is one of these:
 *
 * <ul>
 *   <li>a value: a primitive, an enum, a string, a record or a final class of final values, or one of the JDK's
 *       immutable types that are listed here;
 *   <li>a function that captures nothing;
 *   <li>a list, set or map of values that comes straight from a factory of unmodifiable ones;
 *   <li>a private array of values that no method of its class sorts, fills, stores into or returns.
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
  private static final Set<String> ARRAY_WRITERS = Set.of("fill", "parallelSort", "setAll", "sort");

  private static final List<String> STATE = List.of(
      "static int count;",
      "static final AtomicLong COUNT = new AtomicLong();",
      "static final List<String> SEEN = new ArrayList<>();",
      "static final List<BitSet> SEEN = List.of(new BitSet());",
      "static final Map<String, String> SEEN = Collections.synchronizedMap(new HashMap<>());",
      "static final ThreadLocal<String> CURRENT = new ThreadLocal<>();",
      "static final Object LOCK = new Object();",
      "static final Arena ARENA = Arena.ofAuto();",
      "static final int[] SHOWN = {1, 2};",
      "private static final Object[] LOCKS = {new Object()};",
      "private static final int[] STORED = {1, 2}; void set() { STORED[0]++; }",
      "private static final int[] RETURNED = {1, 2}; int[] all() { return RETURNED; }",
      "private static final int[] FILLED = {1, 2}; void fill() { Arrays.fill(FILLED, 3); }",
      "record Box(ArrayList<String> content) {} static final Box BOX = new Box(new ArrayList<>());",
      "static final Runnable TASK = new ArrayList<String>()::clear;",
      "static final class Row { private final int[] cells = {1}; void set() { cells[0] = 2; } }"
          + " static final Row ROW = new Row();",
      "static final class Slot { int value; } static final Slot SLOT = new Slot();",
      "interface Shape {} static final Shape SHAPE = new Shape() { int sides; };");

  private static final List<String> CONSTANTS = List.of(
      "static final int LIMIT = 3; static final Integer BOXED = 3; static final String NAME = \"name\";",
      "static final List<String> NAMES = List.of(\"a\", \"b\");",
      "static final Map<String, Integer> NAMES = Map.ofEntries(Map.entry(\"a\", 1));",
      "static final Set<Thread.State> LIVE = Set.of(Thread.State.RUNNABLE);",
      "private static final Thread.State[] ALL = Thread.State.values(); Thread.State of(int i) { return ALL[i]; }",
      "static final class Row { private final int[] cells; Row(int n) { cells = new int[n]; cells[0] = n; } }"
          + " static final Row ROW = new Row(1);",
      "static final Runnable NOTHING = () -> {};",
      "static final List<Integer> DOUBLED = Stream.of(1).map(i -> 2 * i).toList();",
      "private static final byte[] DOMAIN = {1, 2}; int first() { return DOMAIN[0]; }",
      "record Link(Link next) {} static final Link LAST = new Link(null);",
      "record Size(long bytes) {} static final Size ZERO = new Size(0);",
      "static final class Size { private final long bytes = 1; } static final Size ONE = new Size();",
      "enum Step { FIRST, LAST } static final Step START = Step.FIRST;"
          + " boolean first(Step step) { return switch (step) { case FIRST -> true; case LAST -> false; }; }",
      "static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG;",
      "static final System.Logger LOG = System.getLogger(\"planted\");");

  @TempDir
  Path temp;

  @Test
  void noStaticHoldsState() {
    assertThat(stateful(Build.here())).isEmpty();
  }

  @Test
  void state_isFound() {
    List<String> found = stateful(planted(STATE));
    for (int i = 0; i < STATE.size(); i++) {
      String type = "io.orbitkv.core.Planted" + i + ".";
      assertThat(found).as(STATE.get(i)).filteredOn(wrong -> wrong.startsWith(type)).hasSize(1);
    }
  }

  @Test
  void constants_areLeftAlone() {
    assertThat(stateful(planted(CONSTANTS))).isEmpty();
  }

  private Build planted(List<String> members) {
    Plant plant = new Plant(temp).module("io.orbitkv.core");
    for (int i = 0; i < members.size(); i++) {
      plant.source("io.orbitkv.core", """
          package io.orbitkv.core;
          import java.lang.foreign.*;
          import java.util.*;
          import java.util.concurrent.atomic.*;
          import java.util.stream.*;
          class Planted%d { %s }
          """.formatted(i, members.get(i)));
    }
    return plant.compile();
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
    if (COLLECTIONS.contains(type.getName())) {
      return whyStatefulCollection(field);
    }
    return holdsValue(field, Set.of()) || comesFrom(field, StaticStateTest::isFunctionWithoutCaptures)
        ? Optional.empty()
        : Optional.of("is a " + type.getName() + ", which can hold state");
  }

  /** Whether a final field can hold nothing but values. */
  private static boolean holdsValue(JavaField field, Set<JavaClass> within) {
    JavaClass type = field.getRawType();
    return type.isArray()
        ? isValue(type.getComponentType(), within) && isKeptFromChange(field)
        : isValue(type, within);
  }

  /** The types within which this one was met are values if the rest of them is: a record may hold its like. */
  private static boolean isValue(JavaClass type, Set<JavaClass> within) {
    if (type.isPrimitive() || type.isEnum() || VALUES.contains(type.getName()) || type.isAssignableTo(LAYOUT)
        || within.contains(type)) {
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
        .allMatch(field -> field.getModifiers().contains(JavaModifier.FINAL) && holdsValue(field, here));
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
    return comesFrom(field, StaticStateTest::isUnmodifiableCollection)
        ? Optional.empty()
        : Optional.of("does not come straight from 'of', 'ofEntries', 'copyOf' or Stream.toList");
  }

  /** Whether the instruction before the one that sets the field is of a kind. */
  private static boolean comesFrom(JavaField field, Predicate<Instruction> kind) {
    Instruction before = null;
    for (MethodModel method : model(field.getOwner()).methods()) {
      if (method.methodName().equalsString(ConstantDescs.CLASS_INIT_NAME)) {
        for (Instruction instruction : instructions(method)) {
          if (accesses(instruction, field, Opcode.PUTSTATIC)) {
            return kind.test(before);
          }
          before = instruction;
        }
      }
    }
    return false;
  }

  private static boolean isUnmodifiableCollection(Instruction instruction) {
    if (!(instruction instanceof InvokeInstruction call)) {
      return false;
    }
    String owner = call.owner().asInternalName().replace('/', '.');
    String name = call.name().stringValue();
    return COLLECTIONS.contains(owner) && FACTORIES.contains(name)
        || owner.equals("java.util.stream.Stream") && name.equals("toList");
  }

  private static boolean isFunctionWithoutCaptures(Instruction instruction) {
    return instruction instanceof InvokeDynamicInstruction call && call.typeSymbol().parameterCount() == 0;
  }

  /** Whether an array is private and no method that reads it stores into an array of its kind or gives one away. */
  private static boolean isKeptFromChange(JavaField field) {
    if (!field.getModifiers().contains(JavaModifier.PRIVATE)) {
      return false;
    }
    ClassDesc array = ClassDesc.ofDescriptor(field.getRawType().getName().replace('.', '/'));
    return model(field.getOwner()).methods().stream()
        .filter(method -> !method.methodName().stringValue().startsWith("<"))
        .filter(method -> instructions(method).stream()
            .anyMatch(instruction -> accesses(instruction, field, Opcode.GETSTATIC, Opcode.GETFIELD)))
        .noneMatch(method -> instructions(method).stream()
            .anyMatch(instruction -> givesAway(instruction, method, array)));
  }

  private static boolean givesAway(Instruction instruction, MethodModel method, ClassDesc array) {
    return switch (instruction) {
      case ArrayStoreInstruction store -> store.typeKind() == TypeKind.from(array.componentType()).asLoadable()
          || store.typeKind() == TypeKind.from(array.componentType());
      case ReturnInstruction _ -> method.methodTypeSymbol().returnType().equals(array);
      case InvokeInstruction call -> call.owner().asInternalName().equals("java/util/Arrays")
          && ARRAY_WRITERS.contains(call.name().stringValue());
      default -> false;
    };
  }

  private static boolean accesses(Instruction instruction, JavaField field, Opcode... opcodes) {
    return instruction instanceof FieldInstruction access
        && List.of(opcodes).contains(access.opcode())
        && access.name().equalsString(field.getName())
        && access.owner().asInternalName().equals(field.getOwner().getName().replace('.', '/'));
  }

  private static List<Instruction> instructions(MethodModel method) {
    return method.code().stream()
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
