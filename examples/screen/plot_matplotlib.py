# SPDX-License-Identifier: Apache-2.0
"""Two plots of a damped oscillation, shown with plt.show()."""

import matplotlib.pyplot as plt
import numpy as np

t = np.linspace(0, 12, 600)
x = np.exp(-0.25 * t) * np.cos(3 * t)
v = np.gradient(x, t)

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.2), layout="constrained")
figure.suptitle(r"A damped oscillator: $x(t) = e^{-t/4}\,\cos 3t$")
left.plot(t, x, label="position")
left.plot(t, np.exp(-0.25 * t), "--", color="grey", label="envelope")
left.set_xlabel("time in s")
left.legend()
points = right.scatter(x, v, c=t, s=6, cmap="viridis")
right.set_xlabel("position")
right.set_ylabel("velocity")
figure.colorbar(points, label="time in s")
plt.show()
