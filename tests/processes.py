"""Processes that have imported the package already, for tests that start several.

They are forked from a server that has done nothing but import it. So they have no descriptor, lock
or ledger of the test, as little as processes that are spawned; but those need 2 s each to import.
"""

import multiprocessing

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["sklearn_dpbo", "hypothesis", "pandas", "pytest"])
