"""Protobuf messages declared in Python, so that no generated code has to fit the installed protobuf."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from autosync_lab.errors import InvalidInput


class Field(NamedTuple):
    """A field of a message.

    Parameters
    ----------
    number : int
    name : str
    kind : str
        "string", "bytes", "bool", "int32" (enumerations too: they look the same on the wire), "int64", or the name of
        a message.
    repeated : bool
        Also for maps, whose entries are messages of a key 1 and a value 2.
    choice : str, optional
        Name of the `oneof` that it is part of.
    """

    number: int
    name: str
    kind: str
    repeated: bool = False
    choice: str | None = None


def message_classes(package: str, messages: Mapping[str, Sequence[Field]]) -> dict[str, Any]:
    """Classes of messages (proto3), by their names. They share nothing with other classes of the same names."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field in fields:
            declared = message.field.add(name=field.name, number=field.number)
            declared.label = kinds.LABEL_REPEATED if field.repeated else kinds.LABEL_OPTIONAL
            if field.kind in messages:
                declared.type, declared.type_name = kinds.TYPE_MESSAGE, f".{package}.{field.kind}"
            else:
                declared.type = kinds.Type.Value(f"TYPE_{field.kind.upper()}")
            if field.choice is not None:
                choices = [c.name for c in message.oneof_decl]
                if field.choice not in choices:
                    choices.append(field.choice)
                    message.oneof_decl.add(name=field.choice)
                declared.oneof_index = choices.index(field.choice)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def parse_message(
    message_class: Any, data: bytes, rule: str, where: str | None, error_class: type[InvalidInput]
) -> Any:
    """The message that bytes are.

    Raises
    ------
    InvalidInput
        Of `error_class` with the text `rule`, if they are none.
    """
    from google.protobuf.message import DecodeError

    try:
        return message_class.FromString(data)
    except DecodeError:
        raise error_class(rule, where=where) from None


def unknown_fields(message: Any) -> Iterator[tuple[str, int]]:
    """Message's name and number of every field that a message, or one inside it, holds and does not declare."""
    from google.protobuf.message import Message
    from google.protobuf.unknown_fields import UnknownFieldSet

    for field in UnknownFieldSet(message):
        yield message.DESCRIPTOR.name, field.field_number
    for declared, value in message.ListFields():
        if declared.message_type is not None:
            for inner in (value,) if isinstance(value, Message) else value:
                yield from unknown_fields(inner)
