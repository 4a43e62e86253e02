# SPDX-License-Identifier: Apache-2.0
"""Plain pyplot code: a result, and a window in the middle of the screen."""

# needs: matplotlib
# expect: 200,150=#f5f5dc 512,384=#6a5acd 820,620=#f5f5dc
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(6.4, 4.8), dpi=100, facecolor="#f5f5dc")
axes = figure.add_axes([0.25, 0.25, 0.5, 0.5])
axes.bar([0], [1], width=1, color="#6a5acd")
axes.set_xlim(-0.5, 0.5)
axes.set_ylim(0, 1)
plt.show()
