# SPDX-License-Identifier: Apache-2.0
"""/usr/bin/python3 -B -m unittest discover -s image/tests -t image"""
