"""An all-reduce strategy as a Python file that needs Horovod, TensorFlow and Keras, and nothing of this package."""

import ast
from importlib.resources import files
from importlib.resources.abc import Traversable
from keyword import iskeyword

import autosync_lab
from autosync_lab.errors import InvalidInput, InvalidStrategy
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy

COMPRESSORS = ("none", "fp16")
"""Wire formats that Horovod itself has."""

INLINED = ("keras_names.py", "unused_name.py")
"""Modules below `autosync_lab.model` that the template needs: their text goes into the script."""

USE = '''"""How gradients are averaged over {replicas} ranks: strategy {id}, exported by AutoSync Lab {version}.

Needs TensorFlow 2 with Keras 3, and Horovod. In the program that trains:

    import {module}  # starts Horovod

    model = ...  # built, with the layers that the strategy is for
    optimizer = {module}.distributed(keras.optimizers.SGD(0.01), model)
    model.compile(optimizer, loss, jit_compile=False)  # XLA has no collectives of Horovod
    {module}.broadcast(model)  # all ranks start alike
    model.fit(...)  # on this rank's share of the data

To start it:

    horovodrun -np {replicas} python train.py

In a training loop of your own, {module}.average(gradients, variables, names) does the same.
"""
'''


def horovod_script(strategy: Strategy, module: str = "synchronization") -> str:
    """The text of a Python module that synchronizes gradients as a strategy says, with Horovod alone.

    Groups become grouped all-reduces (rows of sparse variables: grouped all-gathers), fp16 becomes Horovod's own
    compression. The mean of the ranks is taken, so training equals that of one process on the concatenated batch.

    Parameters
    ----------
    strategy : Strategy
        All of its shards are all-reduced.
    module : str
        The module's name.

    Raises
    ------
    InvalidStrategy
        If Horovod cannot do it; naming the first variable of which that is so, and why.
    InvalidInput
        If Python knows no modules of such a name.
    """
    if not module.isidentifier() or iskeyword(module):
        raise InvalidInput("a Python module's name is letters, digits and _, without a digit in front", received=module)
    if not strategy.synchronous:
        raise InvalidStrategy("Horovod trains synchronously", where="synchronous", received=False)
    plan = {entry.variable: _planned(entry) for entry in strategy.variables}
    exact = any(group is not None for _, shards in plan.values() for group, _, _ in shards)
    constants = {"PLAN": _plan_text(plan), "EXACT_GROUPS": str(exact)}
    use = USE.format(id=strategy.id, version=autosync_lab.__version__, replicas=strategy.replicas, module=module)
    return use + "\n" + _filled(constants)


def _planned(entry: VariableStrategy) -> tuple[int | None, tuple[tuple[int | None, str, str], ...]]:
    where = f"variable {entry.variable!r}"
    shards = []
    for shard in entry.shards:
        if isinstance(shard, ParameterServer):
            raise InvalidStrategy(
                "Horovod has no parameter servers, so a script for it all-reduces every shard",
                where=where,
                received=f"a parameter server on {shard.destination}",
            )
        assert isinstance(shard, AllReduce)
        if shard.compressor not in COMPRESSORS:
            raise InvalidStrategy(
                "Horovod has no such compressor", where=where, received=shard.compressor, valid=COMPRESSORS
            )
        shards.append((shard.group, shard.compressor, shard.sparse_as))
    return entry.axis, tuple(shards)


def _plan_text(plan: dict[str, tuple[int | None, tuple[tuple[int | None, str, str], ...]]]) -> str:
    return "\n".join(["{", *(f"    {name!r}: {said!r}," for name, said in plan.items()), "}"])


def _filled(constants: dict[str, str]) -> str:
    """The template with these values of its constants, and with what it imports from this package inside it."""
    imports, code = _parts(files("autosync_lab.strategy"), "horovod_template.py")
    for name, value in constants.items():
        line = next(line for line in code.splitlines() if line.startswith(name))
        code = code.replace(line, f"{line[: line.index(' = ')]} = {value}", 1)
    for name in INLINED:
        more, inlined = _parts(files("autosync_lab.model"), name)
        imports |= more
        code += f"\n\n{inlined}"
    standard, third = (
        sorted((line for line in imports if _is_third_party(line) is third), key=lambda line: (line[0] == "f", line))
        for third in (False, True)
    )
    return "\n".join([*standard, "", *third, "", code])


def _parts(folder: Traversable, name: str) -> tuple[set[str], str]:
    """A module's imports from outside this package, and its code without its docstring."""
    text = folder.joinpath(name).read_text(encoding="utf-8")
    lines = text.splitlines()[ast.parse(text).body[0].end_lineno :]
    imports = {line for line in lines if line.startswith(("import ", "from "))}
    code = "\n".join(line for line in lines if line not in imports)
    return {line for line in imports if "autosync_lab" not in line}, f"{code.strip()}\n"


def _is_third_party(line: str) -> bool:
    return line.split()[1].split(".")[0] in ("horovod", "tensorflow")
