# SPDX-License-Identifier: Apache-2.0
"""Which names code under `restricted` may spell, as variables and behind a dot."""

from __future__ import annotations

from ..sealed import __builtins__  # noqa: F401
from .violation import refuse

_METHODS = """
abs add aenter aexit aiter and anext await bool bytes call ceil class_getitem complex contains copy
deepcopy del delattr delete delitem dir divmod enter eq exit float floor floordiv format fspath ge
get getattr getattribute getitem getnewargs getstate gt hash iadd iand ifloordiv ilshift imatmul
imod imul index init init_subclass instancecheck int invert ior ipow irshift isub iter itruediv
ixor le len length_hint lshift lt matmul missing mod mul ne neg new next or pos post_init pow
prepare radd rand rdivmod repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift
rshift rsub rtruediv rxor set set_name setattr setitem setstate sizeof str sub subclasscheck
subclasshook truediv trunc xor array array_ufunc array_function array_priority
rich_repr rich_console pydantic_init_subclass html
"""
_FACTS = "name qualname doc module annotations match_args slots hash weakref debug"

METHODS = frozenset(f"__{word}__" for word in _METHODS.split())
FACTS = frozenset(f"__{word}__" for word in _FACTS.split())

# Loaded behind a dot. `__getattr__` is not among them: libraries answer it with whatever is asked.
LOADABLE = (
    (METHODS - {"__getattr__", "__del__", "__subclasshook__"})
    | FACTS
    | frozenset(
        (
            "__dict__", "__members__", "__version__", "__cause__", "__context__", "__notes__",
            "__suppress_context__", "__traceback__", "__wrapped__", "__dataclass_fields__",
            "__dataclass_params__", "__origin__", "__args__", "__parameters__",
            "__metadata__", "__supertype__", "__total__", "__required_keys__",
            "__optional_keys__", "__pydantic_fields__", "__abstractmethods__",
        )
    )
)  # fmt: skip
# Of a module: nothing else with an underscore.
OF_MODULES = frozenset(("__name__", "__doc__", "__version__", "__author__", "__all__"))
STORABLE = frozenset(
    (
        "__name__", "__qualname__", "__doc__", "__module__", "__dict__", "__wrapped__",
        "__cause__", "__context__", "__suppress_context__",
    )
)  # fmt: skip
VARIABLES = (
    METHODS
    | (FACTS - {"__annotations__"})
    | frozenset(
        (
            "__all__", "__version__", "__author__", "__email__", "__license__", "__copyright__",
            "__credits__", "__status__", "__maintainer__", "__date__", "__title__", "__class__",
        )
    )
)  # fmt: skip

# Frames, code and tracebacks: from there everything can be reached.
INSPECTION = frozenset(
    """
    ag_await ag_code ag_frame co_code co_consts co_names co_varnames cr_await cr_code cr_frame
    cr_origin f_back f_builtins f_code f_generator f_globals f_locals f_trace f_lineno func_code
    func_globals gi_code gi_frame gi_yieldfrom im_class im_func im_self tb_frame tb_next
    """.split()
)
# Methods that start programs or take any object apart.
PROGRAMS = frozenset(
    """
    subprocess_exec subprocess_shell create_subprocess_exec create_subprocess_shell ctypes
    enable_load_extension load_extension read_pickle as_strided parse_raw parse_file unsafe_eval
    from_custom_template
    """.split()
)
# Names that mean something harmful on some objects only; asked at run time.
SPECIAL = frozenset(
    """
    format format_map eval evalfile query call createcommand load apply agg aggregate transform
    """.split()
)

_HINT = "allowed are public names, your own _names, and special methods such as __init__"


def is_special_form(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def check_attribute(name: str, line: int = 0) -> None:
    """Refuses names that no object may be asked for."""
    if name in INSPECTION or name in PROGRAMS or name == "_evaluate":
        refuse("attribute", f"the attribute {name!r} is not allowed", _HINT, line)
    if is_special_form(name) and name not in LOADABLE:
        allowed = _HINT
        if name == "__class__":
            allowed = "allowed are type(x) and x.__class__.__name__"
        refuse("attribute", f"the attribute {name!r} is not allowed", allowed, line)


def check_stored_attribute(name: str, line: int = 0) -> None:
    if name in INSPECTION or (is_special_form(name) and name not in STORABLE):
        refuse("write", f"the attribute {name!r} cannot be set", _HINT, line)


def check_variable(name: str, line: int = 0) -> None:
    if is_special_form(name) and name not in VARIABLES:
        refuse(
            "name",
            f"the name {name!r} is not allowed",
            "allowed are __name__, __doc__, special methods in classes, and names of your own",
            line,
        )
