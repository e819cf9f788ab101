"""Reading a file that a user names."""

from pathlib import Path

from autosync_lab.errors import InvalidInput


def read_file(path: Path, most_bytes: int, what: str, error_class: type[InvalidInput]) -> bytes:
    """The bytes of a file.

    Parameters
    ----------
    path : Path
    most_bytes : int
        Longer files are refused, and not read to their end.
    what : str
        What the file should be, such as "a cluster file"; begins the messages.
    error_class : type of InvalidInput
        What is raised.

    Raises
    ------
    InvalidInput
        Of `error_class`, if it cannot be read, or is too long.
    """
    where = str(path)
    try:
        if path.is_dir():
            raise error_class(f"{what} that cannot be read: this is a folder", where=where)
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise error_class(f"{what} that cannot be read: {error.strerror}", where=where) from None
    except ValueError as error:
        if isinstance(error, InvalidInput):
            raise
        # A path with a null byte.
        raise error_class(f"this is no path: {error}", where=where) from None
    if len(data) > most_bytes:
        raise error_class(f"{what} has at most {most_bytes} bytes", where=where)
    return data


def read_text_file(path: Path, most_bytes: int, what: str, error_class: type[InvalidInput]) -> str:
    """The text of a file; arguments and errors as of `read_file`.

    Raises
    ------
    InvalidInput
        Also if it is no text in UTF-8.
    """
    try:
        return read_file(path, most_bytes, what, error_class).decode("utf-8")
    except UnicodeDecodeError:
        raise error_class(f"{what} is text in UTF-8, and this is not", where=str(path)) from None


def is_file_name(name: str, suffixes: tuple[str, ...]) -> bool:
    """True if a name is meant as a file: it has a folder or one of the suffixes, or there is such a file."""
    if "/" in name or name.lower().endswith(suffixes):
        return True
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        # Too long for a file name.
        return False
