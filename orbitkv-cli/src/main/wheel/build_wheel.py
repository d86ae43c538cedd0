"""Packs the wheel: the Python packages, the modules, and a runtime image of Java to run them.

The same inputs give the same bytes. What the wheel says of the machines it runs on is read from the libraries in it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

LARGEST_BYTES = 80_000_000

_REQUIRES_PYTHON = ">=3.10"
_REQUIRES = ("msgspec>=0.19",)

# What the modules require of Java, and what those without a descriptor use.
_JAVA_MODULES = (
    "java.base", "java.logging", "java.management", "java.naming", "java.net.http", "java.xml", "jdk.httpserver",
    "jdk.net", "jdk.unsupported",
)

# By the package that has them, since an adapter may not be there.
_ENTRY_POINTS = {
    "orbitkv": ("console_scripts", "orbitkv = orbitkv.command:main"),
    "orbitkv_sglang": ("sglang.srt.plugins", "orbitkv = orbitkv_sglang.plugin:register"),
    "orbitkv_vllm": ("vllm.general_plugins", "orbitkv = orbitkv_vllm.plugin:register"),
}

# Libraries that every Linux with glibc has, of those that PEP 600 allows.
_EVERYWHERE = re.compile(r"(ld-linux-x86-64|libc|libdl|libm|libpthread|librt)\.so\.\d")

# The first that PEP 600 has a name for.
_OLDEST_GLIBC = (2, 5)

_DESCRIPTION = """\
An external KV cache for LLM inference: prompts whose prefix was seen before are restored from memory or SSD instead of
computed, across requests, engines of one host, and restarts.

The wheel has the engine's side in Python, the `orbitkv` command, and the Java that it runs on: the machine needs none.
The licences of that Java lie in `orbitkv/runtime/legal`, those of the libraries in their jars in `orbitkv/modules`.
"""


class Entry(NamedTuple):
    """A file of the wheel."""

    name: str
    content: bytes
    executable: bool = False


class Native(NamedTuple):
    """What a native file needs of its machine."""

    name: str
    glibc: tuple[int, ...]
    libraries: tuple[str, ...]


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Packs the wheel.")
    parser.add_argument("--version", required=True, help="as the build has it")
    parser.add_argument("--timestamp", required=True, help="of all files, as 2026-11-29T00:00:00Z")
    parser.add_argument("--java", required=True, type=Path, help="home of a JDK, unless TOOLCHAIN_JAVA_HOME is set")
    parser.add_argument("--modules", required=True, type=Path, help="folder of jars")
    parser.add_argument("--native", required=True, type=Path, help="folder of libraries that the modules load")
    parser.add_argument("--license", required=True, type=Path)
    parser.add_argument("--python", required=True, type=Path, action="append", help="folder of packages")
    parser.add_argument("--output", required=True, type=Path, help="folder for the wheel, which is emptied")
    options = parser.parse_args(words)

    shutil.rmtree(options.output, ignore_errors=True)
    options.output.mkdir(parents=True)
    image = make_image(Path(os.environ.get("TOOLCHAIN_JAVA_HOME", options.java)), options.output / "image")
    content = collect(options.python, image, options.native, options.modules)
    wheel = pack(content, options.version, options.timestamp, options.license, options.output)
    size = wheel.stat().st_size
    installed = sum(len(entry.content) for entry in content)
    print(f"{wheel.name}: {size / 1e6:.1f} MB, {installed / 1e6:.1f} MB when installed")
    if size >= LARGEST_BYTES:
        sys.exit(f"the wheel has {size} bytes, expected fewer than {LARGEST_BYTES}")


def make_image(java: Path, folder: Path) -> Path:
    """Makes a runtime image. The modules stay jars, since jlink takes none that has no descriptor."""
    subprocess.run(
        [
            java / "bin/jlink", "--add-modules", ",".join(_JAVA_MODULES), "--strip-debug", "--no-header-files",
            "--no-man-pages", "--compress", "zip-9", "--output", folder,
        ],
        check=True,
    )
    # With Java's own classes prepared, an agent starts in an eighth less of a processor's time, for 4 MB of wheel.
    subprocess.run([folder / "bin/java", "-Xshare:dump", "-Xlog:disable"], check=True)
    return folder


def collect(python: Sequence[Path], image: Path, native: Path, modules: Path) -> list[Entry]:
    """Returns all files but those that describe the wheel."""
    packages = [init.parent for folder in python for init in folder.glob("*/__init__.py")]
    entries = [entry for package in packages for entry in _files(package, package.name)]
    entries += _files(image, "orbitkv/runtime")
    entries += _files(native, "orbitkv/runtime/lib")
    entries += _files(modules, "orbitkv/modules")
    return sorted(entry for entry in entries if "/__pycache__/" not in entry.name)


def pack(content: Sequence[Entry], maven_version: str, timestamp: str, license_file: Path, folder: Path) -> Path:
    """Writes the wheel and returns where it is."""
    # One that is not released comes before the one that is.
    version = maven_version.replace("-SNAPSHOT", ".dev0")
    tag = "py3-none-" + platform_tag(content)
    entries = [*content, *_description(content, version, tag, license_file)]
    record = f"orbitkv-{version}.dist-info/RECORD"
    lines = [f"{entry.name},sha256={_digest(entry.content)},{len(entry.content)}\n" for entry in entries]
    entries.append(Entry(record, "".join([*lines, f"{record},,\n"]).encode()))

    stamp = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).astimezone(timezone.utc)
    wheel = folder / f"orbitkv-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, stamp.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = (0o100755 if entry.executable else 0o100644) << 16
            packed.writestr(info, entry.content)
    return wheel


def platform_tag(content: Sequence[Entry]) -> str:
    """Returns the name of the machines that have what the native files need."""
    inside = {os.path.basename(entry.name) for entry in content}
    natives = list(_natives(content))
    if not any(native.name == "orbitkv/runtime/bin/java" for native in natives):
        sys.exit("the image's Java is not one for Linux on x86-64, which is what wheels are built for")
    for native in natives:
        for library in native.libraries:
            if library not in inside and not _EVERYWHERE.fullmatch(library):
                sys.exit(f"{native.name} needs {library}, which is not on every Linux and not in the wheel")
    major, minor = max(_OLDEST_GLIBC, *(native.glibc[:2] for native in natives))
    return f"manylinux_{major}_{minor}_x86_64"


def _files(folder: Path, name: str) -> Iterator[Entry]:
    """A wheel has no links, so they become what they lead to."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield Entry(f"{name}/{path.relative_to(folder)}", path.read_bytes(), os.access(path, os.X_OK))


def _description(content: Sequence[Entry], version: str, tag: str, license_file: Path) -> list[Entry]:
    metadata = [
        "Metadata-Version: 2.4",
        "Name: orbitkv",
        f"Version: {version}",
        "Summary: An external KV cache for LLM inference.",
        "License-Expression: Apache-2.0",
        f"License-File: {license_file.name}",
        "Classifier: Operating System :: POSIX :: Linux",
        f"Requires-Python: {_REQUIRES_PYTHON}",
        *(f"Requires-Dist: {requirement}" for requirement in _REQUIRES),
        "Description-Content-Type: text/markdown",
    ]
    kind = ["Wheel-Version: 1.0", "Generator: orbitkv", "Root-Is-Purelib: false", f"Tag: {tag}"]
    packages = {entry.name.split("/")[0] for entry in content}
    points = [f"[{group}]\n{point}\n" for package, (group, point) in _ENTRY_POINTS.items() if package in packages]
    folder = f"orbitkv-{version}.dist-info"
    return [
        Entry(f"{folder}/METADATA", ("\n".join(metadata) + "\n\n" + _DESCRIPTION).encode()),
        Entry(f"{folder}/WHEEL", ("\n".join(kind) + "\n").encode()),
        Entry(f"{folder}/entry_points.txt", "\n".join(points).encode()),
        Entry(f"{folder}/licenses/{license_file.name}", license_file.read_bytes()),
    ]


def _natives(content: Sequence[Entry]) -> Iterator[Native]:
    for entry in content:
        if entry.name.endswith(".jar"):
            with zipfile.ZipFile(io.BytesIO(entry.content)) as jar:
                # Some libraries bring files for other systems and processors; they are not loaded here.
                for name in jar.namelist():
                    inner = jar.read(name)
                    if _is_native(inner):
                        yield _native(f"{entry.name}!{name}", inner)
        elif _is_native(entry.content):
            yield _native(entry.name, entry.content)


def _is_native(content: bytes) -> bool:
    """Returns whether a file is ELF for this processor, of Linux or of no system in particular."""
    return content[:5] == b"\x7fELF\2" and content[7] in (0, 3) and content[18:20] == b"\x3e\0"


def _native(name: str, content: bytes) -> Native:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        said = subprocess.run(["objdump", "-Tp", file.name], check=True, capture_output=True, text=True).stdout
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", said)]
    return Native(name, max(versions, default=(0, 0)), tuple(re.findall(r"NEEDED\s+(\S+)", said)))


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(sys.argv[1:])
