"""Function calls of a graph, replaced by what they do.

Only what stands at the top level of a step can be rewired by a worker: a lookup that hides in a called function would
pull the whole variable.
"""

from typing import Any

CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def inline_calls(graph_def: Any) -> Any:
    """Inline the calls at the top level of a graph, also those in what they call. Loops and branches stay functions.

    Parameters
    ----------
    graph_def : tf.compat.v1.GraphDef

    Returns
    -------
    tf.compat.v1.GraphDef
        The same object if there is no call. A call's name becomes an operation without outputs that ends when the call
        would have ended, so control edges on it stay valid.
    """
    library = {f.signature.name: f for f in graph_def.library.function}
    while any(_is_call(node, library) for node in graph_def.node):
        graph_def = _inline_once(graph_def, library)
    return graph_def


def _is_call(node: Any, library: dict[str, Any]) -> bool:
    return node.op in CALLS and node.attr["f"].func.name in library


def _inline_once(graph_def: Any, library: dict[str, Any]) -> Any:
    import tensorflow as tf
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

    flat = tf.compat.v1.GraphDef()
    flat.versions.CopyFrom(graph_def.versions)
    flat.library.CopyFrom(graph_def.library)
    results: dict[str, str] = {}
    for node in graph_def.node:
        if not _is_call(node, library):
            flat.node.add().CopyFrom(node)
            continue
        function = library[node.attr["f"].func.name]
        body, tensor_of = function_def_to_graph_def(function)
        before = [i for i in node.input if i.startswith("^")]
        arguments = dict(
            zip(
                [a.name for a in function.signature.input_arg],
                [i for i in node.input if not i.startswith("^")],
                strict=True,
            )
        )
        for inner in body.node:
            if inner.name in arguments:
                continue
            copy = flat.node.add()
            copy.CopyFrom(inner)
            copy.name = f"{node.name}/{inner.name}"
            del copy.input[:]
            # Waiting for an argument is dropped: what needs it waits anyway, and a placeholder that is fed never runs.
            copy.input.extend(_input(i, node.name, arguments) for i in inner.input if not _waits(i, arguments))
            copy.input.extend(before)
            if "_class" in copy.attr:
                del copy.attr["_class"]  # colocation names the operations of the function
        outputs = [
            _input(tensor_of.get(function.ret[a.name], function.ret[a.name]), node.name, arguments)
            for a in function.signature.output_arg
        ]
        results |= {f"{node.name}:{position}": tensor for position, tensor in enumerate(outputs)}
        end = flat.node.add(name=node.name, op="NoOp")
        waits = {f"^{tensor.split(':')[0]}" for tensor in outputs if tensor not in arguments.values()}
        waits |= {f"^{node.name}/{name}" for name in function.control_ret.values() if name not in arguments}
        end.input.extend(sorted(waits | set(before)))
    for node in flat.node:
        inputs = [_resolve(i, results) for i in node.input]
        data = [i for i in inputs if not i.startswith("^")]
        control = sorted({i for i in inputs if i.startswith("^")})
        del node.input[:]
        node.input.extend([*data, *control])
    return flat


def _input(tensor: str, call: str, arguments: dict[str, str]) -> str:
    """An input of an inlined operation: an argument of the call, or a tensor of the function under its new name."""
    if tensor.startswith("^"):
        return f"^{call}/{tensor[1:]}"
    name, _, port = tensor.partition(":")
    if name in arguments:
        return arguments[name]
    return f"{call}/{name}:{port}" if port not in ("", "0") else f"{call}/{name}"


def _waits(tensor: str, arguments: dict[str, str]) -> bool:
    return tensor.startswith("^") and tensor[1:] in arguments


def _resolve(tensor: str, results: dict[str, str]) -> str:
    """What a tensor is called once all calls are gone: a call may return what another call returned."""
    while not tensor.startswith("^"):
        key = tensor if ":" in tensor else f"{tensor}:0"
        if key not in results:
            break
        tensor = results[key]
    return tensor
