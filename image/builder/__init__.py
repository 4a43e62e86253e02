# SPDX-License-Identifier: Apache-2.0
"""Builds the runtime image: the tree every session sees as its root.

Read in this order: recipe (what determines an image), packages and wheels (where it comes from),
skeleton and finish (what makes it a root), manifest (how one tells it is whole), assemble (the
order).
"""
