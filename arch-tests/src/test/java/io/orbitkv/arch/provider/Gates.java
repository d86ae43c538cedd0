package io.orbitkv.arch.provider;

import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.reflect.AccessFlag;
import java.lang.reflect.Method;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * A Java agent. Makes the methods of the JDK through which a program opens files, sockets, libraries, processes and
 * threads tell the {@link Witness} first. Comparing open descriptors before and after would miss what is closed again.
 */
final class Gates implements ClassFileTransformer {

  /** The methods, by internal name of their class. They lie as near to the system call as Java code goes. */
  private static final Map<String, Set<String>> METHODS = Map.ofEntries(
      Map.entry("java/io/FileInputStream", Set.of("open")),
      Map.entry("java/io/FileOutputStream", Set.of("open")),
      Map.entry("java/io/RandomAccessFile", Set.of("open")),
      Map.entry("java/io/UnixFileSystem", Set.of("createFileExclusively", "createDirectory", "list", "rename")),
      Map.entry("sun/nio/fs/UnixNativeDispatcher", Set.of("open", "openat", "opendir", "mkdir", "unlink", "rename")),
      Map.entry("sun/nio/ch/Net", Set.of("socket", "serverSocket")),
      Map.entry("sun/nio/ch/UnixDomainSockets", Set.of("socket")),
      Map.entry("java/lang/Runtime", Set.of("load0", "loadLibrary0")),
      Map.entry("jdk/internal/loader/RawNativeLibraries", Set.of("load")),
      Map.entry("jdk/internal/foreign/abi/AbstractLinker", Set.of("downcallHandle0", "upcallStub")),
      Map.entry("java/lang/ProcessBuilder", Set.of("start")),
      Map.entry("java/lang/Thread", Set.of("start")),
      Map.entry("java/lang/VirtualThread", Set.of("start")));

  private static final ClassDesc WITNESS = ClassDesc.of("io.orbitkv.arch.provider.Witness");
  private static final MethodTypeDesc SAW =
      MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_String, ConstantDescs.CD_Object);

  private Gates() {}

  /** Called by the JVM before {@code main}. */
  public static void premain(String arguments, Instrumentation instrumentation)
      throws ClassNotFoundException, UnmodifiableClassException {
    instrumentation.addTransformer(new Gates(), true);
    List<Class<?>> types = new ArrayList<>();
    for (Map.Entry<String, Set<String>> gate : METHODS.entrySet()) {
      Class<?> type = Class.forName(gate.getKey().replace('/', '.'), false, null);
      Set<String> missing = new TreeSet<>(gate.getValue());
      Stream.of(type.getDeclaredMethods()).map(Method::getName).forEach(missing::remove);
      if (!missing.isEmpty()) {
        throw new IllegalStateException("this JDK's " + type.getName() + " has no method " + missing);
      }
      types.add(type);
    }
    instrumentation.retransformClasses(types.toArray(Class<?>[]::new));
  }

  @Override
  public byte[] transform(
      ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
    Set<String> methods = METHODS.get(name);
    if (methods == null) {
      return null;
    }
    ClassFile classFile = ClassFile.of();
    ClassTransform toWitness = (builder, element) -> {
      if (element instanceof MethodModel method
          && methods.contains(method.methodName().stringValue()) && method.code().isPresent()) {
        builder.transformMethod(method, MethodTransform.transformingCode(tellingTheWitness(name, method)));
      } else {
        builder.with(element);
      }
    };
    return classFile.transformClass(classFile.parse(bytes), toWitness);
  }

  private static CodeTransform tellingTheWitness(String type, MethodModel method) {
    return new CodeTransform() {
      @Override
      public void atStart(CodeBuilder code) {
        code.ldc(type.substring(type.lastIndexOf('/') + 1) + "." + method.methodName().stringValue());
        MethodTypeDesc signature = method.methodTypeSymbol();
        if (signature.parameterCount() > 0 && !signature.parameterType(0).isPrimitive()) {
          code.aload(method.flags().has(AccessFlag.STATIC) ? 0 : 1);
        } else {
          code.aconst_null();
        }
        code.invokestatic(WITNESS, "saw", SAW);
      }

      @Override
      public void accept(CodeBuilder code, CodeElement element) {
        code.with(element);
      }
    };
  }
}
