"""The few instructions of pickle that torch's state dicts are made of.

Nothing is imported and nothing is called. A name such as `torch._utils
_rebuild_tensor_v2` is a mark on the stack; `REDUCE` turns the marks that stand in
`_CALLS`, with arguments of the right types, into plain values, and refuses all others.

Reference: Python `pickletools`, whose reader of single instructions is used.
"""

import io
import pickletools
from dataclasses import dataclass

LARGEST_NUMBER_OF_STEPS = 2_000_000
_LARGEST = 2**48
_MARK = object()


@dataclass(frozen=True)
class Global:
    """A name that the pickle would import."""

    name: str


@dataclass(frozen=True)
class Storage:
    """Numbers of a file: a root of `root_size`, and `size` of them from `start`."""

    kind: str
    key: str
    root_size: int
    start: int
    size: int


@dataclass(frozen=True)
class Tensor:
    """A view of a storage."""

    storage: Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def run_pickle(
    stream: io.BytesIO, storages: dict[str, Storage] | None = None
) -> object:
    """The value of the pickle at a stream's position, which moves behind it.

    Args:
        stream: the bytes.
        storages: dict that the pickle's storages are put into by their keys, or None.

    Returns:
        str, int, float, bool, None, list, tuple, dict with str keys, or `Tensor`.

    Raises:
        ValueError: when the pickle is damaged or has an instruction that a state dict
            does not need.
    """
    machine = _Machine({} if storages is None else storages)
    for number, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
        if number > LARGEST_NUMBER_OF_STEPS:
            raise ValueError(f"it has more than {LARGEST_NUMBER_OF_STEPS} steps")
        machine.step(opcode.name, argument)
    return machine.pop()


class _Machine:
    def __init__(self, storages):
        self.stack = []
        self.memo = {}
        self.storages = storages

    def pop(self):
        if not self.stack or self.stack[-1] is _MARK:
            raise ValueError("its pickle is damaged: nothing where a value should be")
        return self.stack.pop()

    def top(self, kind):
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise ValueError(f"its pickle is damaged: no {kind.__name__} to fill")
        return self.stack[-1]

    def pop_to_mark(self):
        values = []
        while self.stack:
            value = self.stack.pop()
            if value is _MARK:
                return values[::-1]
            values.append(value)
        raise ValueError("its pickle is damaged: no begin of a list of values")

    def step(self, name, argument):
        push = self.stack.append
        if name in ("PROTO", "FRAME", "STOP"):
            pass
        elif name in _CONSTANTS:
            push(_CONSTANTS[name]())
        elif name in _LITERALS:
            push(argument)
        elif name == "MARK":
            push(_MARK)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
            key = len(self.memo) if name == "MEMOIZE" else argument
            value = self.pop()
            self.memo[key] = value
            push(value)
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            if argument not in self.memo:
                raise ValueError("its pickle is damaged: it recalls what is not there")
            push(self.memo[argument])
        elif name == "TUPLE":
            push(tuple(self.pop_to_mark()))
        elif name in _TUPLES:
            values = [self.pop() for _ in range(_TUPLES[name])]
            push(tuple(values[::-1]))
        elif name == "APPEND":
            value = self.pop()
            self.top(list).append(value)
        elif name == "APPENDS":
            values = self.pop_to_mark()
            self.top(list).extend(values)
        elif name == "SETITEM":
            value, key = self.pop(), self.pop()
            _set_items(self.top(dict), [key, value])
        elif name == "SETITEMS":
            values = self.pop_to_mark()
            _set_items(self.top(dict), values)
        elif name == "GLOBAL":
            push(Global(argument.replace(" ", ".")))
        elif name == "STACK_GLOBAL":
            attribute, module = self.pop(), self.pop()
            if not _are((module, attribute), (str, str)):
                raise ValueError("its pickle is damaged: a name that is no text")
            push(Global(f"{module}.{attribute}"))
        elif name == "BINPERSID":
            push(self.storage(self.pop()))
        elif name == "REDUCE":
            arguments, function = self.pop(), self.pop()
            push(_call(function, arguments))
        elif name == "BUILD":
            # A state dict's versions of its modules: attributes of the dict.
            if not isinstance(self.pop(), dict):
                raise ValueError("its pickle sets attributes that are no dict")
            self.top(dict)
        else:
            raise ValueError(f"its pickle has the instruction {name}: it is no data")

    def storage(self, identity):
        """The storage of a persistent id."""
        kinds = (str, Global, str, str, int)
        if (
            not isinstance(identity, tuple)
            or len(identity) not in (5, 6)
            or not _are(identity[:5], kinds)
            or identity[0] != "storage"
            or not identity[1].name.startswith("torch.")
        ):
            raise ValueError("its pickle refers to something that is no storage")
        _, kind, key, _, size = identity[:5]
        start, root_size = 0, size
        if len(identity) == 6 and identity[5] is not None:
            view = identity[5]
            if not isinstance(view, tuple) or not _are(view, (str, int, int)):
                raise ValueError("its pickle has a view of a storage that is none")
            _, start, size = view
        if not 0 <= root_size < _LARGEST or not 0 <= start <= start + size <= root_size:
            raise ValueError(f"its storage {key[:100]!r} has an impossible size")
        storage = Storage(kind.name.removeprefix("torch."), key, root_size, start, size)
        known = self.storages.setdefault(key, storage)
        if (known.kind, known.root_size) != (storage.kind, storage.root_size):
            raise ValueError(f"its storage {key[:100]!r} is declared twice")
        return storage


_CONSTANTS = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
_LITERALS = {
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"),
    *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4"),
    *("BINFLOAT", "FLOAT"),
    # str of Python 2.
    *("BINSTRING", "SHORT_BINSTRING", "STRING"),
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _are(values, kinds):
    """Whether values are of these types and no other, one each."""
    return len(values) == len(kinds) and all(
        type(value) is kind for value, kind in zip(values, kinds, strict=True)
    )


def _set_items(target, values):
    keys = values[::2]
    # Hashing or comparing anything but str could take for ever.
    if len(values) % 2 or set(map(type, keys)) - {str}:
        raise ValueError("its pickle has a dict whose keys are no names")
    target.update(zip(keys, values[1::2], strict=True))


def _call(function, arguments):
    name = function.name if isinstance(function, Global) else repr(type(function))
    if not isinstance(function, Global) or function.name not in _CALLS:
        raise ValueError(
            f"its pickle calls `{name[:100]}`: only tensors are read, no code is run"
        )
    if not isinstance(arguments, tuple):
        raise ValueError(f"its pickle calls `{name}` without arguments")
    return _CALLS[function.name](*_padded(arguments))


def _padded(arguments):
    """Seven arguments: torch's functions grew some behind those that count."""
    if len(arguments) > 7:
        raise ValueError("its pickle has a tensor of too many arguments")
    return (*arguments, *(None,) * (7 - len(arguments)))


def _dict(pairs, *_):
    result = {}
    for pair in pairs if isinstance(pairs, list) else ():
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError("its pickle has a dict that is none")
        _set_items(result, list(pair))
    return result


def _tensor(storage, start, shape, strides, *_):
    if (
        not isinstance(storage, Storage)
        or type(start) is not int
        or not isinstance(shape, tuple)
        or not isinstance(strides, tuple)
        or len(shape) != len(strides)
        or len(shape) > 8
        or set(map(type, (*shape, *strides))) - {int}
        or not all(0 <= n < _LARGEST for n in (start, *shape, *strides))
    ):
        raise ValueError("its pickle has a tensor that is none")
    return Tensor(storage, start, shape, strides)


def _parameter(tensor, *_):
    if not isinstance(tensor, Tensor):
        raise ValueError("its pickle has a parameter that is no tensor")
    return tensor


_CALLS = {
    "collections.OrderedDict": _dict,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
}
