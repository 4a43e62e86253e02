# SPDX-License-Identifier: Apache-2.0
"""A private copy of the builtins, so that user code may patch the public ones.

Every module of the runtime starts with ``from .sealed import __builtins__``. CPython gives a
function the builtins it finds under that name in its module when the function is made, so
``builtins.len = None`` in a cell changes user code only.
"""

import builtins as _public

__builtins__: dict[str, object] = dict(vars(_public))  # type: ignore[no-redef]
