"""The installed release: what of it is used, how the plugin is found, and what is hooked."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from unittest import mock

import sglang
from sglang.srt.managers.schedule_policy import AddReqResult, PrefillAdder
from sglang.srt.mem_cache.registry import get_radix_cache_factory

import loaded
import record_surface
from orbitkv_sglang import hooks, surface


class SurfaceTest(unittest.TestCase):
    def test_the_record_is_of_the_installed_engine(self) -> None:
        with open(surface._RECORD, encoding="utf-8") as file:
            self.assertEqual(file.read(), record_surface.text())

    def test_nothing_in_the_record_is_missing_from_the_release(self) -> None:
        self.assertEqual([], [name for name, what in surface.observed().items() if what == "none"])

    def test_the_release_is_known(self) -> None:
        self.assertEqual("0.5.22", surface.require_known_engine())

    def test_another_version_is_refused(self) -> None:
        for version in ("0.5.21", "0.5.23", "0.5.22.dev20261009"):
            with mock.patch.object(sglang, "__version__", version):
                with self.assertRaisesRegex(surface.UnknownEngineError, f"is not for SGLang {version}"):
                    surface.require_known_engine()

    def test_an_engine_that_was_changed_is_refused_by_the_name_that_differs(self) -> None:
        from sglang.srt.mem_cache.unified_cache.unified_cache_linker import UnifiedCacheLinkerWrapper

        def match(self: object, key: object, req: object) -> None:
            """Not as it was."""

        with mock.patch.object(UnifiedCacheLinkerWrapper, "match", match):
            with self.assertRaisesRegex(surface.UnknownEngineError, r"match: expected \(self, key, req, result\)"):
                surface.require_known_engine()


class PluginTest(unittest.TestCase):
    def setUp(self) -> None:
        loaded.load()

    def test_the_entry_point_imports_nothing_of_the_cache_and_no_socket_is_opened(self) -> None:
        script = (
            "import sys; from orbitkv_sglang.plugin import register\n"
            "assert 'torch' not in sys.modules and 'sglang' not in sys.modules\n"
            "print(sorted(name for name in sys.modules if name.startswith('orbitkv')))"
        )
        ended = subprocess.run(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, env=os.environ, text=True, check=True
        )
        self.assertEqual("['orbitkv_sglang', 'orbitkv_sglang.plugin']", ended.stdout.strip())

    def test_the_backend_is_registered_once_however_often_the_plugin_is_loaded(self) -> None:
        from orbitkv_sglang import plugin

        plugin.register()
        plugin.register()
        self.assertIsNotNone(get_radix_cache_factory("orbitkv"))

    def test_every_hook_is_in_place(self) -> None:
        self.assertEqual([], hooks.missing())

    def test_a_hook_that_is_not_in_place_is_named(self) -> None:
        wrapped = PrefillAdder.add_one_req
        with mock.patch.object(PrefillAdder, "add_one_req", wrapped.__wrapped__):
            self.assertEqual(["sglang.srt.managers.schedule_policy.PrefillAdder.add_one_req"], hooks.missing())
        with mock.patch.object(hooks, "TARGETS", ("sglang.srt.managers.schedule_policy.Nobody.nothing",)):
            self.assertEqual(["sglang.srt.managers.schedule_policy.Nobody.nothing"], hooks.missing())
        self.assertEqual([], hooks.missing())

    def test_a_hook_of_another_plugin_around_ours_does_not_hide_it(self) -> None:
        ours = PrefillAdder.add_one_req

        def theirs(*_: object) -> None:
            """Around ours."""

        theirs.__wrapped__ = ours  # type: ignore[attr-defined]
        with mock.patch.object(PrefillAdder, "add_one_req", theirs):
            self.assertEqual([], hooks.missing())


class HooksTest(unittest.TestCase):
    def setUp(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def _original(self, *args: object, **_: object) -> str:
        self.calls.append(args)
        return "admitted"

    def test_a_request_that_waits_for_the_ssd_is_passed_over(self) -> None:
        adder, request = mock.Mock(), mock.Mock()
        adder.tree_cache.linker.is_pending.return_value = True
        self.assertIs(AddReqResult.CONTINUE, hooks._admit(self._original, adder, request, False, None))
        self.assertEqual([], self.calls)
        adder.tree_cache.linker.is_pending.return_value = False
        self.assertEqual("admitted", hooks._admit(self._original, adder, request, False, None))
        self.assertEqual([(adder, request, False, None)], self.calls)

    def test_a_request_that_was_queued_is_asked_about_if_that_was_set(self) -> None:
        scheduler, request = mock.Mock(waiting_queue=[mock.Mock()]), mock.Mock()

        def queued(*args: object) -> None:
            scheduler.waiting_queue.append(request)

        scheduler.tree_cache.linker.asks_early = True
        # Refused: there is no room in the queue.
        self.assertEqual("admitted", hooks._enqueue(self._original, scheduler, request))
        request.init_next_round_input.assert_not_called()
        hooks._enqueue(queued, scheduler, request)
        request.init_next_round_input.assert_called_once_with(scheduler.tree_cache)
        scheduler.tree_cache.linker.asks_early = False
        hooks._enqueue(queued, scheduler, request)
        request.init_next_round_input.assert_called_once()

    def test_an_engine_without_orbitkv_is_left_alone(self) -> None:
        for linker in (None, object()):
            adder = mock.Mock()
            adder.tree_cache = mock.Mock(linker=linker)
            self.assertEqual("admitted", hooks._admit(self._original, adder, mock.Mock(), False, None))
            request = mock.Mock()
            scheduler = mock.Mock(tree_cache=adder.tree_cache, waiting_queue=[request])
            self.assertEqual("admitted", hooks._enqueue(self._original, scheduler, request))
            request.init_next_round_input.assert_not_called()
            hooks._before_update(mock.Mock(scheduler=mock.Mock(tree_cache=adder.tree_cache)), None)
            hooks._before_step(mock.Mock(tree_cache=adder.tree_cache))
            hooks._before_release(mock.Mock(tree_cache=adder.tree_cache), mock.Mock())
            adder.tree_cache.check_hicache_events.assert_not_called()
        hooks._before_update(mock.Mock(scheduler=None), None)
        self.assertEqual(4, len(self.calls))

    def test_an_update_of_weights_ends_the_use_of_the_cache(self) -> None:
        updater = mock.Mock()
        hooks._before_update(updater, None)
        updater.scheduler.tree_cache.linker.retire.assert_called_once()


if __name__ == "__main__":
    unittest.main()
