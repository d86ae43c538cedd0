"""Whose folder stays, and whose goes."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import tempfile
import unittest

from orbitkv_agent import EngineFolder


class EngineFolderTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.above = os.path.join(folder.name, "engines")

    def open(self, engine: str) -> EngineFolder:
        folder = EngineFolder(engine, self.above)
        folder.enter()
        self.addCleanup(folder.leave)
        return folder

    def ended(self, engine: str, *files: str) -> None:
        """Leaves what a killed engine leaves."""
        child = os.fork()
        if child == 0:
            folder = EngineFolder(engine, self.above)
            folder.enter()
            os.mkdir(folder.file("manager"))
            for name in files:
                with open(folder.file(name), "wb"):
                    pass
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)

    def test_it_is_private_and_in_a_private_folder(self) -> None:
        folder = self.open("engine")
        self.assertEqual(os.path.join(self.above, "engine"), folder.path)
        for path in (self.above, folder.path):
            self.assertEqual("drwx------", stat.filemode(os.stat(path).st_mode))

    def test_a_name_that_is_no_name_of_a_file_is_digested(self) -> None:
        for engine in ("a/b", ".", "", "x" * 49, "ü"):
            self.assertRegex(os.path.basename(self.open(engine).path), "^[0-9a-f]{32}$")

    def test_a_folder_of_an_ended_engine_goes_when_the_next_starts(self) -> None:
        self.ended("first", "rank0.sock.lock", "manager/arena.lock", "manager/blocks.arena")
        self.open("second")
        self.assertEqual(["second"], os.listdir(self.above))

    def test_it_stays_while_an_agent_still_drains(self) -> None:
        self.ended("first", "rank0.sock.lock", "manager/arena.lock", "manager/blocks.arena")
        for name in ("rank0.sock.lock", "manager/arena.lock"):
            child = os.fork()
            if child == 0:
                with open(os.path.join(self.above, "first", name), "r+b") as lock:
                    fcntl.lockf(lock, fcntl.LOCK_EX)
                    os.kill(os.getpid(), signal.SIGSTOP)
                    os._exit(0)
            os.waitpid(child, os.WUNTRACED)
            self.open("second").leave()
            self.assertEqual(["first"], os.listdir(self.above))
            os.kill(child, signal.SIGCONT)
            os.waitpid(child, 0)
        self.open("second")
        self.assertEqual(["second"], os.listdir(self.above))

    def test_it_stays_while_one_process_or_role_of_the_engine_lives(self) -> None:
        scheduler, worker = self.open("engine"), self.open("engine")
        other = self.open("other")
        scheduler.leave()
        self.open("third")
        self.assertTrue(os.path.exists(worker.path))
        worker.leave()
        self.assertFalse(os.path.exists(worker.path))
        self.assertTrue(os.path.exists(other.path))

    def test_an_engine_that_is_named_as_an_ended_one_has_its_folder_to_itself(self) -> None:
        self.ended("engine", "rank0.sock.lock", "manager/blocks.arena")
        folder = self.open("engine")
        self.assertEqual(["engine.lock"], os.listdir(folder.path))

    def test_what_others_made_is_left_alone(self) -> None:
        os.makedirs(os.path.join(self.above, "manager"), 0o700)
        os.chmod(self.above, 0o700)
        self.open("engine")
        self.assertEqual(["engine", "manager"], sorted(os.listdir(self.above)))

    def test_a_folder_that_others_can_reach_is_refused(self) -> None:
        os.mkdir(self.above)
        os.chmod(self.above, 0o755)
        with self.assertRaisesRegex(ValueError, "drwxr-xr-x.*expected a folder drwx------"):
            EngineFolder("engine", self.above).enter()

    def test_a_link_to_a_folder_is_refused(self) -> None:
        os.mkdir(self.above + "2", 0o700)
        os.symlink(self.above + "2", self.above)
        with self.assertRaises(ValueError):
            EngineFolder("engine", self.above).enter()


if __name__ == "__main__":
    unittest.main()
