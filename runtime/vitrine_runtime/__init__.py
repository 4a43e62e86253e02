# SPDX-License-Identifier: Apache-2.0
"""What runs inside a Vitrine session: the worker's side of the session socket, in Python."""
