# SPDX-License-Identifier: Apache-2.0
"""`python -m pip` of a session. `import pip` finds the image's own."""
