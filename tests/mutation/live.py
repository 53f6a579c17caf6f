"""Puts a mutant into the modules that are loaded, in a fork: that is quicker than to start anew."""

import dataclasses
import gc
import importlib
import inspect
import json
import os
import resource
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any

import numpy as np

import sklearn_dpbo

from .operators import Mutant
from .prices import forget

PACKAGE = Path(sklearn_dpbo.__file__).parent
PLAIN = int, float, tuple, str, frozenset, set, np.ndarray


def in_a_fork(run: Callable[[], Any], seconds: float) -> Any:
    """Return what a function returns in a fork, as JSON holds it; "time" after CPU seconds."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        try:
            found = run()
        except BaseException as error:
            found = f"error: {error!r}"[:200]
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    begun = time.monotonic()
    while not os.waitpid(child, os.WNOHANG)[0] and time.monotonic() < begun + 8 * seconds:
        time.sleep(0.01)
    for kill, whom in ((os.killpg, child), (os.kill, child)):  # with what it has started
        try:
            kill(whom, SIGKILL)
        except ProcessLookupError:
            break
    with os.fdopen(reader) as pipe:
        os.set_blocking(pipe.fileno(), False)
        said = pipe.read()
    return json.loads(said) if said else "time"


def plant(mutant: Mutant) -> bool:
    """Put a mutant into this process; return whether anything has changed."""
    path, name = PACKAGE / mutant.file, f"sklearn_dpbo.{mutant.file[:-3].replace('/', '.')}"
    module = importlib.import_module(name)
    forget()
    codes = [
        list(functions(compile(text, str(path), "exec"), mutant.function.split(".")))
        for text in (path.read_text(), mutant.text)
    ]
    if mutant.function and codes[0]:
        return sum(replaced(*pair) for pair in zip(*codes, strict=True)) > 0
    fresh = {"__name__": name, "__package__": name.rpartition(".")[0], "__file__": str(path)}
    exec(compile(mutant.text, str(path), "exec"), fresh)
    return sum([plain(key, value, vars(module).get(key)) for key, value in fresh.items()]) > 0


def functions(code: types.CodeType, names: list[str]) -> Iterator[types.CodeType]:
    """Yield the codes of the outermost function that these names of definitions lead to."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and inner.co_name == names[0]:
            if inner.co_flags & inspect.CO_OPTIMIZED:
                yield inner
            elif names[1:]:
                yield from functions(inner, names[1:])


def replaced(old: types.CodeType, new: types.CodeType) -> bool:
    """Give all functions with a code the new one."""
    found = [
        each for each in gc.get_objects()
        if type(each) is types.FunctionType and each.__code__ == old and old != new
        and each.__code__.co_filename == old.co_filename
    ]  # fmt: skip
    for function in found:
        function.__code__ = new
    return bool(found)


def plain(name: str, new: Any, old: Any) -> bool:
    """Replace a constant wherever it was imported, or those of a class; return whether it was."""
    if isinstance(new, type) and isinstance(old, type):
        own = {key: value for key, value in vars(new).items() if isinstance(value, PLAIN)}
        changed = {k: v for k, v in own.items() if k[:2] != "__" and differ(v, vars(old).get(k))}
        for key, value in changed.items():
            default(old, key, vars(old).get(key), value)
        return bool(changed)
    if name[:2] == "__" or not isinstance(new, PLAIN) or not differ(new, old):
        return False
    for module in list(sys.modules.values()):
        if vars(module).get(name) is old and f"{module.__name__}".startswith(("sklearn_", "test")):
            setattr(module, name, new)
    return True


def default(owner: type, name: str, old: Any, new: Any) -> None:
    """Replace a constant of a class; of a dataclass, what it and those derived from it begin as."""
    setattr(owner, name, new)
    for each in [owner, *owner.__subclasses__()]:
        init = vars(each).get("__init__")
        if dataclasses.is_dataclass(each) and init and init.__defaults__:
            names = init.__code__.co_varnames[: init.__code__.co_argcount]
            pairs = zip(names[-len(init.__defaults__) :], init.__defaults__, strict=True)
            init.__defaults__ = tuple(
                new if key == name and not differ(value, old) else value for key, value in pairs
            )
        if each is not owner and not differ(vars(each).get(name, old), old):
            default(each, name, old, new)


def differ(a: Any, b: Any) -> bool:
    """Whether two constants differ."""
    return type(a) is not type(b) or not np.array_equal(a, b)
