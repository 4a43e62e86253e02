# SPDX-License-Identifier: Apache-2.0
"""The same in a window of matplotlib's own, with its toolbar."""

# needs: matplotlib
# expect: 110,60=#f5f5dc 300,200=#b22222
import matplotlib

matplotlib.use("TkAgg")
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(4, 3), dpi=100, facecolor="#f5f5dc")
figure.canvas.manager.window.wm_geometry("+100+50")
axes = figure.add_axes([0.25, 0.25, 0.5, 0.5])
axes.fill([0, 1, 1, 0], [0, 0, 1, 1], color="#b22222")
axes.set_xlim(0, 1)
axes.set_ylim(0, 1)
plt.show()
print("show() returned")
