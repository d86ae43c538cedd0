"""The wheel, installed by pip where there is no Java.

``ORBITKV_WHEEL`` is the folder that the build packed it into.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import ClassVar

import msgspec

import build_wheel

_LIMIT_S = 300.0

# In the installed environment: an engine's worker, whose agent comes from the wheel and hosts the Manager.
_WORKER = """
import os, sys
from orbitkv_agent import AgentLauncher, EngineFolder
from stand_in import Worker, chain

with EngineFolder("engine", sys.argv[1]) as folder:
    launcher = AgentLauncher(folder.file("rank0.sock"), [
        *sys.argv[2:], "--host-manager", folder.file("manager"), "--engine", "vllm",
        "--engine-socket", folder.file("scheduler.sock"), "--state-folder", folder.file("state")])
    assert launcher.wait(120), open(folder.file("rank0.log")).read()
    worker = Worker(folder.file("rank0.sock"))
    assert worker.store(1, list(range(20))) == 20
    answer = worker.client.query(0, 0, chain(1, 20))
    finished = worker.finish(worker.client.load(answer.lease, list(range(20, 40))))
    assert finished.blocks == 20 and worker.holds(1, list(range(20, 40)))
    assert os.path.exists(folder.file("scheduler.sock"))
    print(os.readlink(f"/proc/{launcher.agent_pid}/exe"))
    worker.close()
    assert launcher.close(60)
"""


class WheelTest(unittest.TestCase):
    wheel: ClassVar[Path]
    scratch: ClassVar[Path]
    python: ClassVar[Path]
    packages: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        (cls.wheel,) = Path(os.environ["ORBITKV_WHEEL"]).glob("*.whl")
        cls.scratch = Path(tempfile.mkdtemp(prefix="orbitkv-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        venv.create(cls.scratch / "venv", symlinks=True)
        cls.python = cls.scratch / "venv/bin/python"
        (cls.packages,) = (cls.scratch / "venv/lib").glob("python*/site-packages")
        _pip("--python", str(cls.python), "install", "--quiet", "--no-index", "--no-deps", str(cls.wheel))
        # From the environment that this runs in, so that no network is needed.
        of_tests = Path(msgspec.__file__).parent
        shutil.copytree(of_tests, cls.packages / "msgspec")
        (described,) = of_tests.parent.glob("msgspec-*.dist-info")
        shutil.copytree(described, cls.packages / described.name)

    def run_installed(self, *words: str, **environment: str) -> str:
        """Runs a command that sees its own folder of programs and nothing else."""
        bin_folder = str(self.python.parent)
        ended = subprocess.run(
            [os.path.join(bin_folder, words[0]), *words[1:]], env={"PATH": bin_folder, "HOME": bin_folder, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_LIMIT_S, cwd=self.scratch)
        self.assertEqual(0, ended.returncode, ended.stdout)
        return ended.stdout

    def installed(self) -> Distribution:
        (found,) = distributions(name="orbitkv", path=[str(self.packages)])
        return found

    def test_it_has_all_that_it_requires(self) -> None:
        _pip("--python", str(self.python), "check")
        self.assertEqual(["msgspec>=0.19"], self.installed().requires)

    def test_its_command_runs_on_its_own_java(self) -> None:
        self.assertRegex(self.run_installed("orbitkv", "--version"), r"^orbitkv \S+, Java 25")
        self.assertEqual(
            self.run_installed("orbitkv", "--version"), self.run_installed("python", "-m", "orbitkv", "--version"))

    def test_its_command_s_exit_code_is_the_command_s_own(self) -> None:
        ended = subprocess.run([self.python.with_name("orbitkv"), "agent"], capture_output=True, timeout=_LIMIT_S)
        self.assertEqual(2, ended.returncode)

    def test_what_serves_lookups_does_not_stop_for_collections(self) -> None:
        def told(*arguments: str) -> str:
            code = f"from orbitkv.command import command; print(*command(*{arguments!r}))"
            return self.run_installed("python", "-c", code, ORBITKV_JAVA_OPTS="-Da='b c'")

        for arguments in (("manager",), ("agent", "--host-manager", "x"), ("agent", "--host-manager=x")):
            self.assertIn("-XX:+UseZGC", told(*arguments))
        self.assertNotIn("-XX:+UseZGC", told("agent", "--manager", "x"))
        self.assertIn(" -Xlog:gc*,safepoint:file=log:time,uptime -Da=b c ", told("manager", "--gc-log", "log"))
        self.assertEqual(told("manager", "--gc-log", "log").split("Main")[0],
                         told("manager", "--gc-log=log").split("Main")[0])

    def test_the_quickstart_restores_from_its_memory_and_ssd(self) -> None:
        said = self.run_installed("orbitkv", "quickstart", "--requests", "100", "--dir", str(self.scratch))
        self.assertIn("every one checked, none wrong", said)

    def test_a_worker_s_agent_comes_from_it(self) -> None:
        runtime = tempfile.mkdtemp(prefix="orbitkv-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, runtime)
        tests = str(Path(__file__).parent.parent / "python")
        ssd = str(self.scratch / "ssd")
        said = self.run_installed(
            "python", "-c", _WORKER, runtime, "--dram", "64MiB", "--ssd", f"{ssd}:256MiB", "--storage", "file",
            PYTHONPATH=tests)
        self.assertEqual(str(self.packages / "orbitkv/runtime/bin/java"), said.strip().split("\n")[-1])
        self.assertEqual([], os.listdir(runtime))

    def test_its_record_tells_every_file(self) -> None:
        with zipfile.ZipFile(self.wheel) as packed:
            names = packed.namelist()
            (record,) = (name for name in names if name.endswith("/RECORD"))
            rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(packed.read(record).decode()))}
            self.assertEqual(sorted(names), sorted(rows))
            self.assertEqual(["", ""], rows.pop(record))
            for name, (digest, size) in rows.items():
                content = packed.read(name)
                encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                self.assertEqual((f"sha256={encoded}", str(len(content))), (digest, size), name)

    def test_it_has_files_only_and_programs_may_be_run(self) -> None:
        with zipfile.ZipFile(self.wheel) as packed:
            for info in packed.infolist():
                self.assertTrue(stat.S_ISREG(info.external_attr >> 16), info.filename)
                self.assertFalse(info.filename.endswith((".pyc", "/")), info.filename)
        for program in ("bin/java", "lib/jspawnhelper"):
            self.assertTrue(os.access(self.packages / "orbitkv/runtime" / program, os.X_OK), program)

    def test_its_name_tells_the_oldest_glibc_that_it_runs_on(self) -> None:
        for jar in self.packages.rglob("*.jar"):
            with zipfile.ZipFile(jar) as packed:
                packed.extractall(
                    self.scratch / "natives" / jar.name, [name for name in packed.namelist() if name.endswith(".so")])
        needed = []
        for path in [*self.packages.rglob("orbitkv/runtime/**/*"), *(self.scratch / "natives").rglob("*.so")]:
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                said = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
                needed += [word.strip("()") for word in said.split() if word.strip("()").startswith("GLIBC_2.")]
        newest = max(int(version.split(".")[1]) for version in needed)
        self.assertTrue(self.wheel.name.endswith(f"-py3-none-manylinux_2_{newest}_x86_64.whl"), newest)

    def test_engines_find_its_plugins(self) -> None:
        for group, package in (("vllm.general_plugins", "orbitkv_vllm"), ("sglang.srt.plugins", "orbitkv_sglang")):
            with self.subTest(group):
                (point,) = self.installed().entry_points.select(group=group)
                self.assertEqual(("orbitkv", f"{package}.plugin:register"), (point.name, point.value))
                load = (
                    f"import sys, {point.module}; print(sorted(name for name in sys.modules if"
                    " name.startswith('orbitkv')))"
                )
                said = self.run_installed("python", "-c", load)
                self.assertEqual(f"['{package}', '{package}.plugin']", said.strip(), "an engine may not select it")

    def test_the_same_files_make_the_same_wheel(self) -> None:
        content = [
            build_wheel.Entry(f"orbitkv/runtime/bin/{name}", path.read_bytes(), True)
            for name in ("java", "other") for path in [self.packages / "orbitkv/runtime/bin/java"]
        ]
        # Nothing else of it is looked for.
        content.append(build_wheel.Entry("orbitkv/runtime/lib/libjli.so", b""))
        wheels = []
        for folder in ("one", "two"):
            (self.scratch / folder).mkdir()
            wheels.append(build_wheel.pack(
                content, "1.2-SNAPSHOT", "2026-11-29T00:00:00Z", Path(__file__), self.scratch / folder))
            os.utime(__file__)
        self.assertEqual(wheels[0].name, wheels[1].name)
        self.assertTrue(wheels[0].name.startswith("orbitkv-1.2.dev0-"))
        self.assertEqual(wheels[0].read_bytes(), wheels[1].read_bytes())

    def test_a_library_that_is_not_everywhere_is_refused(self) -> None:
        java = (self.packages / "orbitkv/runtime/bin/java").read_bytes()
        with self.assertRaisesRegex(SystemExit, "bin/java needs libjli.so, which is not on every Linux"):
            build_wheel.platform_tag([build_wheel.Entry("orbitkv/runtime/bin/java", java, True)])

    def test_an_image_for_another_machine_is_refused(self) -> None:
        with self.assertRaisesRegex(SystemExit, "not one for Linux on x86-64"):
            build_wheel.platform_tag([build_wheel.Entry("orbitkv/runtime/bin/java", b"#!/bin/sh", True)])


def _pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words], check=True, timeout=_LIMIT_S)


if __name__ == "__main__":
    unittest.main()
