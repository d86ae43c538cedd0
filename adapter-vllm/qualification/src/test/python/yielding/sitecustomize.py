"""Has every process that finds this on its path give way by sleeping a little.

vLLM's workers call ``sched_yield`` all the time while steps follow one another. With Linux 6.18 and two workers on two
processors, threads of other processes have then been seen to wait ten seconds for a processor, the kernel's own among them,
and agents answered nobody.
"""

import os
import time

_PAUSE_S = 50e-6


def _give_way() -> None:
    time.sleep(_PAUSE_S)


os.sched_yield = _give_way
